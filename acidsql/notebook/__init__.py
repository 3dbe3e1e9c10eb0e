"""``%acidsql`` and ``%%acidsql``: run statements in Jupyter notebooks and in IPython.

Only this package imports IPython, which is an extra (``pip install acidsql[notebook]``). The
modules are ``magics`` (runs a cell), ``cell`` (parses its options and statements), ``table``
(results) and ``progress`` (progress bar). Statements run and can be cancelled like in
``acidsql.repl``.
"""
