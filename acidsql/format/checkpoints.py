"""Checkpoints of a change feed: the table, and the valid write ids whose changes were read.

One number does not suffice: write id 7 can commit before 6, and the changes of 6 would be lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.valid_lists import ValidWriteIdList

_OF = ";table="


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """Checkpoint of a change feed.

    Attributes:
        write_ids: write ids whose changes were read.
        table_id: identifies the table, so that a table created in its place is a different table.
    """

    write_ids: ValidWriteIdList
    table_id: str

    def to_string(self) -> str:
        """Return the text that a program keeps.

        >>> seen = ValidWriteIdList(table="default.t", high_water_mark=1)
        >>> Checkpoint(write_ids=seen, table_id="a/3").to_string()
        'default.t:1:9223372036854775807::;table=a/3'
        """
        return f"{self.write_ids.to_string()}{_OF}{self.table_id}"

    def is_same_place(self, other: Checkpoint) -> bool:
        """Return whether there was no commit between two checkpoints.

        The name of the table does not count, because a rename changes it.
        """
        renamed = replace(self.write_ids, table=other.write_ids.table)
        return (renamed, self.table_id) == (other.write_ids, other.table_id)

    @classmethod
    def from_string(cls, text: str) -> Checkpoint:
        """Parse the text of a checkpoint.

        Raises:
            AcidAnalysisError: INVALID_CHECKPOINT, the text is not a checkpoint.
        """
        ids, _, table_id = text.rpartition(_OF)
        try:
            write_ids = ValidWriteIdList.from_string(ids)
        except FormatError as error:
            raise AcidAnalysisError(
                "INVALID_CHECKPOINT",
                f"{text[:200]!r} is no checkpoint of a change feed: give one that acidsql.changes"
                "_since has returned, or None to begin with the rows that are there",
            ) from error
        return cls(write_ids=write_ids, table_id=table_id)
