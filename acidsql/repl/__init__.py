"""Shell ``acidsql``: statements from a prompt, ``-e``, ``-f`` or standard input.

It uses the product only through ``acidsql.sql``. One module per role: ``main`` (options and exit
codes), ``config`` (configuration file), ``session`` (Spark session), ``interaction`` (reads from a
terminal), ``prompt`` and ``completer`` (input), ``typed`` (what was typed), ``commands`` and
``*_commands`` (tables of backslash commands), ``shell`` (runs and prints in turn), ``statements``
(end of a statement), ``runner`` (progress and cancelling), ``printer`` (results and errors),
``output`` (where results go).
"""
