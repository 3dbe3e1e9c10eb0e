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
 * <p>Its columns are the table's columns in order, with the partition columns last. Metadata
 * columns contain other properties of a row: its row id, whether it was deleted, the index of its
 * partition, the write id of its last event, and the operation of the event that is read. Spark
 * reports the predicates and columns of a query. Python gets the partitions that the predicates
 * retain, and returns the file parts that tasks read.
 */
public final class AcidTable implements SupportsRead, SupportsMetadataColumns {
  // Indexes of the metadata columns.
  static final int ROW_ID_COLUMN = 0;
  static final int IS_DELETED_COLUMN = 1;
  static final int PARTITION_COLUMN = 2;
  static final int WRITE_ID_COLUMN = 3;
  static final int OPERATION_COLUMN = 4;
  static final int METADATA_COLUMNS = 5;
  // Ways to treat deleted rows.
  static final int HIDDEN = 0;
  static final int SHOWN = 1; // with the other rows; their row ids have the write id of the delete
  static final int ONLY = 2; // without the other rows
  static final StructType ROW_ID =
      new StructType()
          .add("writeid", DataTypes.LongType)
          .add("bucketid", DataTypes.IntegerType)
          .add("rowid", DataTypes.LongType);
  final StructType declared; // columns in the files
  final StructType partitionSchema;
  private final Function planner; // from String to byte[]
  final long bytes;
  final long rows;
  final String zone;
  final int deletedRows; // HIDDEN, SHOWN or ONLY
  final boolean isWhole; // whether the table consists of all rows of the files
  private Map analyzed; // null until Python returned them
  private final String name;
  private final String key;
  private final StructType schema;
  private final MetadataColumn[] metadata;
  private final JavaSparkContext context;
  private Object[][] partitions;
  private Object[] initial; // by position, values of columns in files that lack them

  /**
   * Creates the table.
   *
   * @param name name that EXPLAIN shows
   * @param key equal for two tables only if they have the same rows
   * @param declared columns of the files, which can have CHAR and VARCHAR
   * @param partitionSchema partition columns
   * @param virtual names of the metadata columns, in the order of their indexes, separated by NUL
   * @param planner takes a request (see AcidScan), and returns bytes that Splits decodes
   * @param zone time zone of the session
   * @param numbers bytes of the table; number of rows; how to treat deleted rows; 1 if the table
   *     consists of all rows of the files, so that their statistics are exact; separated by blanks
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
   * @param values number of partitions, then each value: -1 for NULL, or the length of a text and
   *     its UTF-8 bytes. Spark casts the text by the settings of the calling session.
   */
  public void setPartitions(byte[] values) throws IOException {
    partitions = decode(values, partitionSchema);
  }

  /**
   * Sets the values of columns in files that are older than the columns.
   *
   * @param values one partition with all columns of the files, see setPartitions
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
   * Returns the column statistics of ANALYZE TABLE, as AnalyzedColumn by name. They are requested
   * from Python once, and only if Spark's optimiser uses them.
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

  /** Sends a request to Python. */
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

  /** Returns the position of a column; for a metadata column, -1 minus its index. */
  int positionOf(String column) {
    Option found = schema.getFieldIndex(column);
    for (int i = 0; found.isEmpty() && i < metadata.length; i++) {
      if (metadata[i].name().equals(column)) {
        return -1 - i;
      }
    }
    return ((Integer) found.get()).intValue();
  }

  /** Returns the Hadoop settings of the session that runs a query. */
  Broadcast newConfiguration() {
    return context.broadcast(
        new SerializableConfiguration(
            SessionState$.MODULE$.newHadoopConf(context.hadoopConfiguration(), SQLConf.get())));
  }

  /**
   * Returns the number of tasks that run in parallel, the largest part of a file, and the number of
   * bytes that opening a file counts for, by the settings of the session that runs a query.
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
