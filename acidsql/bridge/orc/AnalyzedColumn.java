package acidsql.orc;

import java.util.Optional;
import java.util.OptionalLong;
import org.apache.spark.sql.catalyst.catalog.CatalogColumnStat;
import org.apache.spark.sql.connector.read.colstats.ColumnStatistics;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;

/** Statistics of a column that ANALYZE TABLE has computed, for Spark's cost-based optimiser. */
final class AnalyzedColumn implements ColumnStatistics {
  /** Number of the texts that describe a column. */
  static final int TEXTS = 7;

  // Of the texts of values, as Spark's catalog has them.
  private static final int VERSION = 2;
  // Bytes of a string in a row besides its own: its place and its length.
  private static final int STRING_OVERHEAD = 12;

  private final String[] texts;
  private final String column;
  private final DataType type;

  /**
   * Makes the statistics of a column.
   *
   * @param texts name, number of NULLs and of distinct values, least and greatest value, average and
   *     greatest length in bytes; what is not known is empty
   */
  AnalyzedColumn(String[] texts, DataType type) {
    this.texts = texts;
    this.column = texts[0];
    this.type = type;
  }

  /** Returns the bytes of a value in a row, as Spark reckons (EstimationUtils.getSizePerRow). */
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
