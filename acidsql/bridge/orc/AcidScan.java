package acidsql.orc;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.FieldReference;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.Statistics;
import org.apache.spark.sql.connector.read.SupportsPushDownAggregates;
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
import org.apache.spark.sql.connector.read.SupportsPushDownV2Filters;
import org.apache.spark.sql.connector.read.SupportsReportStatistics;
import org.apache.spark.sql.connector.read.SupportsRuntimeV2Filtering;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Scan of a table by a query. */
final class AcidScan
    implements Scan, Batch, SupportsRuntimeV2Filtering, SupportsReportStatistics {
  private static final int ROW_OVERHEAD = 8; // bytes that Spark adds for each row
  private static final String COUNT = "count"; // requests the number of rows, -1 if unknown
  private final AcidTable table;
  private final StructType required;
  private final Predicate[] pushed;
  private final Aggregates aggregates; // null if rows are read
  private Predicate[] atRunTime = new Predicate[0];

  AcidScan(AcidTable table, StructType required, Predicate[] pushed, Aggregates aggregates) {
    this.table = table;
    this.required = required;
    this.pushed = pushed;
    this.aggregates = aggregates;
  }

  /** Collects the columns, predicates and aggregates that Spark reports for a query. */
  static final class Builder
      implements ScanBuilder,
          SupportsPushDownRequiredColumns,
          SupportsPushDownV2Filters,
          SupportsPushDownAggregates {
    private final AcidTable table;
    private StructType required;
    private Predicate[] pushed = new Predicate[0];
    private Aggregates aggregates;
    private Aggregates counted; // aggregates that need no file

    Builder(AcidTable table) {
      this.table = table;
      this.required = table.schema();
    }

    public void pruneColumns(StructType wanted) {
      required = wanted;
    }

    /** Uses all predicates to skip rows, and returns them so that Spark evaluates them too. */
    public Predicate[] pushPredicates(Predicate[] predicates) {
      pushed = predicates;
      return predicates;
    }

    public Predicate[] pushedPredicates() {
      return pushed;
    }

    /** Returns whether the query needs only the number of rows, and Python knows it. */
    public boolean supportCompletePushDown(Aggregation wanted) {
      Aggregates found = pushed.length == 0 ? Aggregates.of(table, wanted) : null;
      if (found != null && found.isCount()) {
        long rows = ByteBuffer.wrap(table.ask(COUNT)).getLong();
        counted = rows < 0 ? null : found.of(rows);
      }
      return counted != null;
    }

    /** Accepts aggregates of all rows. Spark merges the aggregates that tasks return. */
    public boolean pushAggregation(Aggregation wanted) {
      if (counted == null && pushed.length == 0 && table.isWhole) {
        aggregates = Aggregates.of(table, wanted);
      }
      return counted != null || aggregates != null;
    }

    public Scan build() {
      return counted != null
          ? (Scan) new CountScan(table, counted)
          : new AcidScan(table, required, pushed, aggregates);
    }
  }

  /**
   * Returns whether files can have a search argument for the pushed predicates. IS NOT NULL does
   * not count, because Spark adds it to almost all comparisons.
   */
  public boolean hasSearchArgument() {
    List predicates = new ArrayList();
    for (int i = 0; i < pushed.length; i++) {
      if (!pushed[i].name().equals("IS_NOT_NULL")) {
        predicates.add(pushed[i]);
      }
    }
    SearchArguments arguments = new SearchArguments(new DeclaredColumns(table));
    return arguments.of((Predicate[]) predicates.toArray(new Predicate[0])) != null;
  }

  /** Columns of files that have the declared types of the table. */
  private static final class DeclaredColumns implements SearchArguments.KnownColumns {
    private final AcidTable table;

    DeclaredColumns(AcidTable table) {
      this.table = table;
    }

    public String nameOf(String column) {
      boolean isInFiles =
          table.schema().getFieldIndex(column).isDefined()
              && table.partitionSchema.getFieldIndex(column).isEmpty();
      return isInFiles ? column : null;
    }

    public DataType typeOf(String column) {
      return table.schema().apply(column).dataType();
    }

    public boolean isInstant(String column) {
      return true;
    }
  }

  public StructType readSchema() {
    return aggregates == null ? required : aggregates.result;
  }

  public String description() {
    String of = aggregates == null ? "" : "statistics of the files: ";
    return table.name() + " " + of + readSchema().catalogString() + " " + Arrays.toString(pushed);
  }

  public Batch toBatch() {
    return this;
  }

  /** Makes Spark request the partitions when it runs the query, and not when it plans it. */
  public Scan.ColumnarSupportMode columnarSupportMode() {
    return aggregates == null
        ? Scan.ColumnarSupportMode.SUPPORTED
        : Scan.ColumnarSupportMode.UNSUPPORTED;
  }

  public NamedReference[] filterAttributes() {
    List found = new ArrayList();
    String[] names = table.partitionSchema.fieldNames();
    for (int i = 0; aggregates == null && i < names.length; i++) {
      if (Arrays.asList(required.fieldNames()).contains(names[i])) {
        found.add(FieldReference.column(names[i]));
      }
    }
    return (NamedReference[]) found.toArray(new NamedReference[0]);
  }

  public void filter(Predicate[] predicates) {
    atRunTime = predicates;
  }

  public Statistics estimateStatistics() {
    long whole = ROW_OVERHEAD + table.schema().defaultSize();
    long read = ROW_OVERHEAD;
    final Map columns = new HashMap();
    Map analyzed = table.analyzed();
    StructField[] fields = required.fields();
    for (int i = 0; i < fields.length; i++) {
      AnalyzedColumn known = (AnalyzedColumn) analyzed.get(fields[i].name());
      read += known == null ? fields[i].dataType().defaultSize() : known.bytesOfRow();
      if (known != null) {
        columns.put(FieldReference.column(fields[i].name()), known);
      }
    }
    final long rows = table.rows;
    // Like Spark's estimate for its own tables: by rows if the cost-based optimiser is on.
    final long bytes =
        rows >= 0 && SQLConf.get().cboEnabled()
            ? rows * read
            : Math.max(1, (long) ((double) table.bytes * read / whole));
    return new Statistics() {
      public Map columnStats() {
        return columns;
      }

      public OptionalLong sizeInBytes() {
        return OptionalLong.of(bytes);
      }

      public OptionalLong numRows() {
        return rows < 0 ? OptionalLong.empty() : OptionalLong.of(rows);
      }
    };
  }

  /**
   * Requests the file parts to read from Python.
   *
   * <p>A request contains the settings for the parts (see AcidTable), then the ordinals of the
   * partitions that the predicates retain, or "all". Blanks separate them.
   */
  public InputPartition[] planInputPartitions() {
    try {
      String request = table.splitSettings() + " " + keptPartitions();
      InputPartition[] found = Splits.decode(table.ask(request), table.partitions());
      // Aggregates over no rows also make a row.
      boolean isEmpty = found.length == 0 && aggregates != null;
      return isEmpty ? new InputPartition[] {new Splits.Task(new Splits.Part[0])} : found;
    } catch (java.io.IOException error) {
      throw new IllegalStateException(error);
    }
  }

  private String keptPartitions() {
    Object[][] partitions = table.partitions();
    StringBuilder kept = new StringBuilder();
    int count = 0;
    for (int i = 0; i < partitions.length; i++) {
      boolean mayMatch = true;
      for (int j = 0; j < pushed.length; j++) {
        mayMatch &= mayHold(pushed[j], partitions[i]);
      }
      for (int j = 0; j < atRunTime.length; j++) {
        mayMatch &= mayHold(atRunTime[j], partitions[i]);
      }
      if (mayMatch) {
        kept.append(count++ == 0 ? "" : " ").append(i);
      }
    }
    return count == partitions.length ? "all" : kept.toString();
  }

  /** Returns false if a predicate is true for no row of a partition. */
  private boolean mayHold(Expression expression, Object[] partition) {
    if (!(expression instanceof Predicate)) {
      return true;
    }
    Expression[] children = ((Predicate) expression).children();
    String name = ((Predicate) expression).name();
    if (name.equals("AND")) {
      return mayHold(children[0], partition) && mayHold(children[1], partition);
    }
    if (name.equals("OR")) {
      return mayHold(children[0], partition) || mayHold(children[1], partition);
    }
    String column = children.length == 0 ? null : SearchArguments.columnOf(children[0]);
    scala.Option found =
        column == null ? scala.Option.empty() : table.partitionSchema.getFieldIndex(column);
    if (found.isEmpty()) {
      return true;
    }
    int position = ((Integer) found.get()).intValue();
    Object value = partition[position];
    if (name.equals("IS_NULL")) {
      return value == null;
    }
    if (name.equals("IS_NOT_NULL")) {
      return value != null;
    }
    if (!name.equals("=") && !name.equals("IN")) {
      return true;
    }
    for (int i = 1; i < children.length; i++) {
      if (!(children[i] instanceof LiteralValue)) {
        return true;
      }
      LiteralValue literal = (LiteralValue) children[i];
      StructField field = table.partitionSchema.fields()[position];
      if (!literal.dataType().equals(field.dataType()) || value instanceof byte[]) {
        return true;
      }
      if (value != null && value.equals(literal.value())) {
        return true;
      }
    }
    return false;
  }

  public PartitionReaderFactory createReaderFactory() {
    StructType columns = aggregates == null ? required : aggregates.columns;
    ReadPlan plan = new ReadPlan(table, columns, pushed);
    return aggregates == null
        ? (PartitionReaderFactory) new AcidReader.Factory(plan, table.newConfiguration())
        : new AggregateReader.Factory(plan, aggregates, table.newConfiguration());
  }

  /** Spark runs only one of two equal scans. */
  public boolean equals(Object other) {
    if (!(other instanceof AcidScan)) {
      return false;
    }
    AcidScan scan = (AcidScan) other;
    return table.equals(scan.table)
        && readSchema().equals(scan.readSchema())
        && Arrays.equals(pushed, scan.pushed);
  }

  public int hashCode() {
    return (table.hashCode() * 31 + readSchema().hashCode()) * 31 + Arrays.hashCode(pushed);
  }
}
