package acidsql.orc;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.connector.catalog.SupportsMetadataColumns;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.SessionState$;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.SerializableConfiguration;
import scala.Option;

/**
 * A snapshot of a table, whose files Python plans when a query runs.
 *
 * <p>Its columns are those of the table in their order, those of its partitions last. What else is
 * known of a row is in metadata columns: its row id, whether it was deleted, the index of its
 * partition, the write id of its last event, and the operation of the event that is read. Spark
 * reports the predicates and columns of a query. Python gets the partitions that they leave, and
 * answers with the parts of files that tasks read.
 */
public final class AcidTable implements SupportsRead, SupportsMetadataColumns {
  // Metadata columns, by their indexes.
  static final int ROW_ID_COLUMN = 0;
  static final int IS_DELETED_COLUMN = 1;
  static final int PARTITION_COLUMN = 2;
  static final int WRITE_ID_COLUMN = 3;
  static final int OPERATION_COLUMN = 4;
  static final int METADATA_COLUMNS = 5;
  // What becomes of deleted rows.
  static final int HIDDEN = 0;
  static final int SHOWN = 1; // beside the others, with the write id that deleted them
  static final int ONLY = 2; // without the others
  static final StructType ROW_ID =
      new StructType()
          .add("writeid", DataTypes.LongType)
          .add("bucketid", DataTypes.IntegerType)
          .add("rowid", DataTypes.LongType);
  final StructType declared; // columns that files have
  final StructType partitionSchema;
  private final Function planner; // a String to byte[]
  final long bytes;
  final long rows;
  final String zone;
  final int deletedRows; // HIDDEN, SHOWN or ONLY
  final boolean isWhole; // whether all rows of the files count
  private Map analyzed; // null until Python was asked
  private final String name;
  private final String key;
  private final StructType schema;
  private final MetadataColumn[] metadata;
  private final JavaSparkContext context;
  private Object[][] partitions;
  private Object[] initial; // by position, values of columns in files that lack them

  /**
   * Makes the table.
   *
   * @param name which EXPLAIN shows
   * @param key equal for two tables only if they have the same rows
   * @param declared columns of the files, perhaps with CHAR and VARCHAR
   * @param partitionSchema columns of the partitions
   * @param virtual names of the metadata columns, by their indexes, with NUL between them
   * @param planner is given a request, see AcidScan, and returns what Splits decodes
   * @param zone time zone of the session
   * @param numbers bytes and rows of the table; what becomes of deleted rows; 1 if all rows of the
   *     files count, so that their statistics are exact; separated by blanks
   */
  public AcidTable(
      String name,
      String key,
      DataType declared,
      DataType partitionSchema,
      String virtual,
      Function planner,
      String zone,
      String numbers,
      JavaSparkContext context) {
    this.name = name;
    this.key = key;
    this.declared = (StructType) declared;
    this.partitionSchema = (StructType) partitionSchema;
    this.planner = planner;
    this.zone = zone;
    String[] told = numbers.split(" ");
    this.bytes = Long.parseLong(told[0]);
    this.rows = Long.parseLong(told[1]);
    this.deletedRows = Integer.parseInt(told[2]);
    this.isWhole = told[3].equals("1");
    this.context = context;
    StructType read = (StructType) CharVarcharUtils.replaceCharVarcharWithString(declared);
    StructField[] others = this.partitionSchema.fields();
    for (int i = 0; i < others.length; i++) {
      read = read.add(others[i]);
    }
    this.schema = read;
    DataType[] types = {
      ROW_ID,
      DataTypes.BooleanType,
      DataTypes.IntegerType,
      DataTypes.LongType,
      DataTypes.IntegerType
    };
    this.metadata = new MetadataColumn[METADATA_COLUMNS];
    String[] names = virtual.split("\0");
    for (int i = 0; i < METADATA_COLUMNS; i++) {
      metadata[i] = new Virtual(names[i], types[i]);
    }
    this.partitions = new Object[0][];
    this.initial = new Object[this.declared.length()];
  }

  /**
   * Sets the values of the partitions.
   *
   * @param values number of the partitions, then each value: -1 for NULL, or the length of a text
   *     and its UTF-8 bytes; Spark casts it by the settings of the session that calls
   */
  public void setPartitions(byte[] values) throws IOException {
    partitions = decode(values, partitionSchema);
  }

  /**
   * Sets the values that columns have in files from before they were added.
   *
   * @param values of one partition with all columns of the files, see setPartitions
   */
  public void setInitial(byte[] values) throws IOException {
    StructType read = (StructType) CharVarcharUtils.replaceCharVarcharWithString(declared);
    initial = decode(values, read)[0];
  }

  private Object[][] decode(byte[] values, StructType types) throws IOException {
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(values));
    StructField[] fields = types.fields();
    Object[][] found = new Object[in.readInt()][fields.length];
    Map[] known = new Map[fields.length];
    for (int i = 0; i < found.length; i++) {
      for (int j = 0; j < fields.length; j++) {
        known[j] = known[j] == null ? new HashMap() : known[j];
        int length = in.readInt();
        if (length >= 0) {
          byte[] text = new byte[length];
          in.readFully(text);
          UTF8String value = UTF8String.fromBytes(text);
          if (!known[j].containsKey(value)) {
            known[j].put(value, typed(value, fields[j].dataType()));
          }
          found[i][j] = known[j].get(value);
        }
      }
    }
    return found;
  }

  /**
   * Returns what ANALYZE TABLE has computed of columns, as AnalyzedColumn by name. Python is asked
   * for it once, if Spark's optimiser is to use it.
   */
  synchronized Map analyzed() {
    if (analyzed == null) {
      SQLConf settings = SQLConf.get();
      if (!settings.cboEnabled() && !settings.planStatsEnabled()) {
        return Collections.EMPTY_MAP;
      }
      Map found = new HashMap();
      String[] all = new String(ask("analyzed"), StandardCharsets.UTF_8).split("\0", -1);
      for (int i = 0; i + AnalyzedColumn.TEXTS <= all.length; i += AnalyzedColumn.TEXTS) {
        String[] own = (String[]) Arrays.copyOfRange(all, i, i + AnalyzedColumn.TEXTS);
        found.put(own[0], new AnalyzedColumn(own, schema.apply(own[0]).dataType()));
      }
      analyzed = found;
    }
    return analyzed;
  }

  private Object typed(UTF8String text, DataType type) {
    if (type instanceof StringType) {
      return text;
    }
    Literal literal = new Literal(text, DataTypes.StringType);
    return new Cast(literal, type, Option.apply(zone)).eval(null);
  }

  /** Asks Python. */
  byte[] ask(String request) {
    Object answer = PythonCalls.call(planner, request);
    if (answer instanceof RuntimeException) {
      throw (RuntimeException) answer;
    }
    return (byte[]) answer;
  }

  Object[][] partitions() {
    return partitions;
  }

  Object[] initial() {
    return initial;
  }

  /** Returns the position of a column; of a metadata column, -1 less its index. */
  int positionOf(String column) {
    Option found = schema.getFieldIndex(column);
    for (int i = 0; found.isEmpty() && i < metadata.length; i++) {
      if (metadata[i].name().equals(column)) {
        return -1 - i;
      }
    }
    return ((Integer) found.get()).intValue();
  }

  /** Returns the settings of the session that runs a query, for the files. */
  Broadcast newConfiguration() {
    return context.broadcast(
        new SerializableConfiguration(
            SessionState$.MODULE$.newHadoopConf(context.hadoopConfiguration(), SQLConf.get())));
  }

  /**
   * Returns the number of tasks that run at once, the largest part of a file, and the bytes that
   * opening a file counts as, by the settings of the session that runs a query.
   */
  String splitSettings() {
    SQLConf settings = SQLConf.get();
    Option wanted = settings.filesMinPartitionNum();
    if (wanted.isEmpty()) {
      wanted = (Option) settings.getConf(SQLConf.LEAF_NODE_DEFAULT_PARALLELISM());
    }
    Object tasks = wanted.isEmpty() ? Integer.valueOf(context.defaultParallelism()) : wanted.get();
    return tasks + " " + settings.filesMaxPartitionBytes() + " " + settings.filesOpenCostInBytes();
  }

  public String name() {
    return name;
  }

  public StructType schema() {
    return schema;
  }

  public Set capabilities() {
    return Collections.singleton(TableCapability.BATCH_READ);
  }

  public MetadataColumn[] metadataColumns() {
    return metadata;
  }

  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    return new AcidScan.Builder(this);
  }

  public boolean equals(Object other) {
    return other instanceof AcidTable && ((AcidTable) other).key.equals(key);
  }

  public int hashCode() {
    return key.hashCode();
  }

  public String toString() {
    return name;
  }

  private static final class Virtual implements MetadataColumn {
    private final String name;
    private final DataType type;

    Virtual(String name, DataType type) {
      this.name = name;
      this.type = type;
    }

    public String name() {
      return name;
    }

    public DataType dataType() {
      return type;
    }

    public boolean isNullable() {
      return false;
    }
  }
}
