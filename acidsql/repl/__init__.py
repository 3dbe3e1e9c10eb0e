"""Shell ``acidsql``: statements from a prompt, ``-e``, ``-f`` or standard input.

It uses the product through ``acidsql.sql`` alone. One module per role: ``main`` (options and exit
codes), ``session`` (Spark session), ``shell`` (reads, runs and prints in turn), ``prompt`` and
``completer`` (input), ``statements`` (end of a statement), ``runner`` (progress and cancelling),
``printer`` (results and errors).
"""
