package acidsql.orc;

import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.sql.catalyst.catalog.CatalogColumnStat;
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;

/** Statistics of a column from ANALYZE TABLE, for Spark's cost-based optimiser. */
final class AnalyzedColumn implements ColumnStatistics {
  /** Number of the texts that describe a column. */
  static final int TEXTS = 7;

  // Version of the text format of values in Spark's catalog.
  private static final int VERSION = 2;
  // Additional bytes of a string in a row: its offset and its length.
  private static final int STRING_OVERHEAD = 12;

  private final String[] texts;
  private final String column;
  private final DataType type;

  /**
   * Creates the statistics of a column.
   *
   * @param texts name, number of NULLs and of distinct values, lowest and highest value, average
   *     and maximum length in bytes; empty if unknown
   */
  AnalyzedColumn(String[] texts, DataType type) {
    this.texts = texts;
    this.column = texts[0];
    this.type = type;
  }

  /** Returns Spark's estimate of a value's bytes in a row (EstimationUtils.getSizePerRow). */
  long bytesOfRow() {
    OptionalLong length = avgLen();
    if (!length.isPresent()) {
      return type.defaultSize();
    }
    return type instanceof StringType ? length.getAsLong() + STRING_OVERHEAD : length.getAsLong();
  }

  public OptionalLong nullCount() {
    return number(1);
  }

  public OptionalLong distinctCount() {
    return number(2);
  }

  public Optional min() {
    return value(3);
  }

  public Optional max() {
    return value(4);
  }

  public OptionalLong avgLen() {
    return number(5);
  }

  public OptionalLong maxLen() {
    return number(6);
  }

  private OptionalLong number(int place) {
    String text = texts[place];
    return text.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(text));
  }

  private Optional value(int place) {
    String text = texts[place];
    return text.isEmpty()
        ? Optional.empty()
        : Optional.of(CatalogColumnStat.fromExternalString(text, column, type, VERSION));
  }
}
