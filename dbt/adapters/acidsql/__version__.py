"""Version of the adapter, where dbt looks for it."""

from __future__ import annotations

import acidsql

version = acidsql.__version__
