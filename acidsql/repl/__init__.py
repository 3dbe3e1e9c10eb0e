"""The ``acidsql`` shell: statements from a prompt, ``-e``, ``-f`` or standard input.

Talks to the product through ``acidsql.sql`` alone. One module per role: ``main`` (options and exit
codes), ``session`` (Spark session), ``shell`` (reads, runs and prints in turn), ``prompt`` and
``completer`` (input), ``statements`` (where a statement ends), ``runner`` (progress and
cancelling), ``printer`` (results and errors).
"""
