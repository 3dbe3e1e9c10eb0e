"""Version of the adapter, in the module where dbt expects it."""

from __future__ import annotations

import acidsql

version = acidsql.__version__
