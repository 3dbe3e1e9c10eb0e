"""Shell ``acidsql``, which runs statements from a prompt, ``-e``, ``-f`` or standard input.

It runs statements only through ``acidsql.sql``. The main modules are ``main`` (options and exit
codes), ``config`` (configuration file), ``session`` (Spark session), ``interaction`` (reads from a
terminal), ``prompt`` and ``completer`` (input), ``typed`` (parses the input), ``commands`` and
``*_commands`` (backslash commands), ``shell`` (runs statements and prints results), ``statements``
(splits a text into statements), ``runner`` (progress and cancellation), ``printer`` (results and
errors) and ``output`` (destination of results).
"""
