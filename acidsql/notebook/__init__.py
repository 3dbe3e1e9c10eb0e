"""``%acidsql`` and ``%%acidsql``: statements in the cells of a Jupyter notebook, or in IPython.

The only package that imports IPython, which is an extra (``pip install acidsql[notebook]``). One
module per role: ``magics`` (runs a cell), ``cell`` (its options and statements), ``table``
(results), ``progress`` (the bar). Statements run, and are cancelled, as in ``acidsql.repl``.
"""
