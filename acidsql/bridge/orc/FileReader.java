package acidsql.orc;

import java.io.IOException;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TimeZone;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;
import org.apache.orc.ColumnStatistics;
import org.apache.orc.IntegerColumnStatistics;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.RecordReader;
import org.apache.orc.StripeInformation;
import org.apache.orc.StripeStatistics;
import org.apache.orc.TypeDescription;
import org.apache.orc.impl.SchemaEvolution;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.errors.QueryExecutionErrors;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;

/** Reads a part of a file in batches. */
final class FileReader implements SearchArguments.KnownColumns {
  // Columns of an ACID file, by position.
  private static final int OPERATION = 0;
  private static final int WRITE_ID = 1;
  private static final int BUCKET = 2;
  private static final int ROW_ID = 3;
  private static final int CURRENT_WRITE_ID = 4;
  private static final int ROW = 5;
  private static final List KEY_COLUMNS =
      Arrays.asList("operation", "originalTransaction", "bucket", "rowId", "currentTransaction");

  private final ReadPlan plan;
  private final Splits.Part part;
  private final boolean isEvents;
  private final List fileNames; // names of the columns of the file
  private final List fileTypes;
  private final int[] columns; // by position in the file: position in the table or -1
  private final int[] places; // by position in the table: position in the file or -1
  private final Reader reader;
  private final Reader.Options options;
  private RecordReader rows; // null until the first batch is read
  private final VectorizedRowBatch batch;
  private final ColumnVector[] vectors; // vectors of the table's columns, by position
  private final Columns.Rows counted = new Columns.Rows();
  private final ColumnarBatch shown;
  private final boolean needsIds;
  private DeletedRows deleted;
  // Row ids of a batch: as Spark sees them, by position in the batch.
  private final ColumnVector[] ids = new ColumnVector[3];
  private LongColumnVector isDeleted;
  private LongColumnVector shownWriteIds; // in row ids
  private LongColumnVector deleters; // in the column of write ids
  private int[] positions = new int[0];

  FileReader(ReadPlan plan, Splits.Part part, Configuration conf) throws Exception {
    this.plan = plan;
    this.part = part;
    this.isEvents = part.kind == Splits.EVENTS;
    ZoneId zone = DateTimeUtils.getZoneId(plan.zone);
    // ORC can compute instants only in the JVM's time zone. For the session's zone, acidsql
    // computes them from local times, which two instants share when clocks are set back.
    boolean isOwnZone =
        !plan.isInUtc
            && zone.getRules().equals(TimeZone.getDefault().toZoneId().getRules());
    Columns.Moments moments = new Columns.Moments(isOwnZone ? null : zone);
    reader =
        OrcFile.createReader(
            new Path(part.path),
            OrcFile.readerOptions(conf).maxLength(part.fileLength).useUTCTimestamp(!isOwnZone));
    try {
      TypeDescription schema = reader.getSchema();
      TypeDescription type = isEvents ? rowOf(schema) : schema;
      if (type.getCategory() != TypeDescription.Category.STRUCT) {
        throw new IOException("its rows are no structs but " + type);
      }
      fileNames = type.getFieldNames();
      fileTypes = type.getChildren();
      places = new int[plan.dataColumns];
      columns = columnsOf();
      deleted = part.deletes == null ? null : new DeletedRows(part, keyRange(), conf);
      if (deleted != null && deleted.isEmpty()) {
        deleted = null;
      }
      needsIds = plan.reads(AcidTable.ROW_ID_COLUMN) || deleted != null;
      SearchArguments arguments = new SearchArguments(this);
      SearchArgument argument = null;
      // The position of a row is known only if ORC skips no row before it. If the columns of a
      // table have the same names as in an ACID file, ORC looks for a column one level too deep.
      if ((isEvents || !needsIds) && !SchemaEvolution.checkAcidSchema(type)) {
        argument = arguments.of(plan.predicates);
      }
      TypeDescription read = readSchema(schema);
      boolean hasRow = isEvents && read.getChildren().size() > ROW;
      TypeDescription readRow =
          hasRow ? (TypeDescription) read.getChildren().get(ROW) : isEvents ? type : read;
      batch = new VectorizedRowBatch(read.getChildren().size(), plan.batchRows);
      StructColumnVector row = vectorsOf(readRow, arguments.used());
      vectors = row.fields;
      if (isEvents) {
        for (int i = 0; i < ROW; i++) {
          batch.cols[i] = needsAcidColumn(i) ? new LongColumnVector(plan.batchRows) : null;
        }
        if (hasRow) {
          batch.cols[ROW] = row;
        }
      } else {
        batch.cols = vectors;
      }
      shown = new ColumnarBatch(shownColumns(moments));
      options =
          reader
              .options()
              .schema(read)
              .include(included(read, readRow))
              .range(part.start, part.length)
              .isSchemaEvolutionCaseAware(false)
              .forcePositionalEvolution(false)
              .tolerateMissingSchema(true)
              .skipCorruptRecords(false)
              .allowPluginFilters(false)
              .allowSARGToFilter(false);
      if (argument != null) {
        options.searchArgument(argument, new String[0]);
        // To continue after skipped rows, ORC needs the positions in a row index.
        boolean isFiltered = reader.getRowIndexStride() > 0;
        options.allowSARGToFilter(isFiltered).useSelected(isFiltered);
      }
    } catch (Exception error) {
      reader.close();
      throw error;
    }
  }

  /**
   * Throws the error by which Spark reports that a file cannot be read, as for its own formats. An
   * error that already reports this, or the end of the task, is thrown unchanged.
   */
  static IOException failed(String path, Exception error) {
    boolean isKnown = error instanceof SparkThrowable || Thread.currentThread().isInterrupted();
    Throwable thrown =
        isKnown ? error : QueryExecutionErrors.cannotReadFilesError(error, path);
    Platform.throwException(thrown);
    return null;
  }

  /**
   * Returns the type of the table's rows in an ACID file. Staged delete events have no row. They
   * are read as if the row had no columns.
   */
  private static TypeDescription rowOf(TypeDescription schema) throws IOException {
    if (schema.getFieldNames().equals(KEY_COLUMNS)) {
      return TypeDescription.createStruct();
    }
    if (!SchemaEvolution.checkAcidSchema(schema)) {
      throw new IOException("it is named like a file of a transactional table and has " + schema);
    }
    return (TypeDescription) schema.getChildren().get(ROW);
  }

  // ---- Columns to read

  /**
   * Finds the columns of the table in the file.
   *
   * <p>In a full-ACID table, columns are found by position, as in Hive 4.1. In an insert-only
   * table, they are found by name, as in Spark, if the file has its own names.
   */
  private int[] columnsOf() {
    boolean isByName = false;
    for (int i = 0; part.kind == Splits.PLAIN && i < fileNames.size(); i++) {
      isByName |= !((String) fileNames.get(i)).matches("_col[0-9]+");
    }
    int[] found = new int[isByName ? fileTypes.size() : Math.min(part.columns, fileTypes.size())];
    Arrays.fill(places, -1);
    for (int i = 0; i < found.length; i++) {
      found[i] = isByName ? plan.positionIgnoringCase((String) fileNames.get(i)) : i;
      if (found[i] >= 0) {
        places[found[i]] = i;
      }
    }
    return found;
  }

  /** Returns the index of a file column among the required columns, or -1. */
  private int wanted(int place) {
    return columns[place] < 0 ? -1 : plan.columnAt(columns[place]);
  }

  private boolean needsAcidColumn(int column) {
    if (column == CURRENT_WRITE_ID) {
      return part.visible != null
          || plan.reads(AcidTable.WRITE_ID_COLUMN) && plan.deletedRows != AcidTable.ONLY;
    }
    if (column == OPERATION) {
      return plan.reads(AcidTable.OPERATION_COLUMN);
    }
    return needsIds && (column == WRITE_ID || column == BUCKET || column == ROW_ID);
  }

  /**
   * Returns the type for reading the file, with the file's own names. Fields of nested structs are
   * found by name.
   */
  private TypeDescription readSchema(TypeDescription schema) {
    TypeDescription row = TypeDescription.createStruct();
    for (int i = 0; i < columns.length; i++) {
      int column = wanted(i);
      TypeDescription type =
          column < 0
              ? ((TypeDescription) fileTypes.get(i)).clone()
              : Vectors.orcType(
                  plan.required.fields()[column].dataType(), (TypeDescription) fileTypes.get(i));
      row.addField((String) fileNames.get(i), type);
    }
    if (!isEvents) {
      return row;
    }
    TypeDescription events = TypeDescription.createStruct();
    for (int i = 0; i < ROW; i++) {
      String name = (String) schema.getFieldNames().get(i);
      events.addField(name, ((TypeDescription) schema.getChildren().get(i)).clone());
    }
    boolean hasRow = schema.getFieldNames().size() > ROW;
    return hasRow ? events.addField((String) schema.getFieldNames().get(ROW), row) : events;
  }

  private boolean[] included(TypeDescription read, TypeDescription row) {
    boolean[] found = new boolean[read.getMaximumId() + 1];
    found[0] = true;
    for (int i = 0; isEvents && i < ROW; i++) {
      found[((TypeDescription) read.getChildren().get(i)).getId()] = needsAcidColumn(i);
    }
    for (int i = 0; i < columns.length; i++) {
      if (wanted(i) >= 0) {
        found[row.getId()] = true;
        TypeDescription type = (TypeDescription) row.getChildren().get(i);
        Arrays.fill(found, type.getId(), type.getMaximumId() + 1, true);
      }
    }
    return found;
  }

  /** Makes the vectors of the columns to read; all other columns share one vector. */
  private StructColumnVector vectorsOf(TypeDescription row, Set compared) {
    ColumnVector unread = new LongColumnVector(1);
    ColumnVector[] fields = new ColumnVector[columns.length];
    for (int i = 0; i < fields.length; i++) {
      boolean isCompared = compared.contains(fileNames.get(i));
      fields[i] =
          wanted(i) < 0
              ? unread
              : Vectors.newVector(
                  (TypeDescription) row.getChildren().get(i),
                  (TypeDescription) fileTypes.get(i),
                  isCompared,
                  plan.batchRows);
    }
    return new RowVector(batch, fields, unread);
  }

  /**
   * Columns of the rows of a batch.
   *
   * <p>If ORC filters rows, it first reads the columns that it compares. For the other columns, it
   * can come back to this vector and reset it, after it has skipped rows or row groups. The state
   * of the first columns must then remain.
   */
  private static final class RowVector extends StructColumnVector {
    private final VectorizedRowBatch batch;
    private final ColumnVector unread;

    RowVector(VectorizedRowBatch batch, ColumnVector[] fields, ColumnVector unread) {
      super(batch.getMaxSize(), fields);
      this.batch = batch;
      this.unread = unread;
    }

    public void reset() {
      boolean isRead = batch.size > 0; // true after the first columns were read
      noNulls = true;
      isRepeating = false;
      Arrays.fill(isNull, false);
      for (int i = 0; !isRead && i < fields.length; i++) {
        if (fields[i] != unread) {
          Vectors.reset(fields[i]);
        }
      }
    }
  }

  // ---- Columns that Spark sees

  private org.apache.spark.sql.vectorized.ColumnVector[] shownColumns(Columns.Moments moments) {
    StructField[] fields = plan.required.fields();
    org.apache.spark.sql.vectorized.ColumnVector[] found =
        new org.apache.spark.sql.vectorized.ColumnVector[fields.length];
    if (needsIds) {
      findIds();
    }
    for (int i = 0; i < fields.length; i++) {
      DataType type = fields[i].dataType();
      int position = plan.positions[i];
      if (position < 0) {
        found[i] = virtualColumn(-1 - position, type, moments);
      } else if (position >= plan.dataColumns) {
        found[i] = new ConstantColumn(type, part.partition[position - plan.dataColumns]);
      } else if (places[position] >= 0) {
        DataType declared = plan.declared.fields()[position].dataType();
        found[i] = Columns.shown(declared, type, vectors[places[position]], counted, moments);
      } else {
        // The column is newer than the file.
        found[i] = new ConstantColumn(type, plan.initial[position]);
      }
    }
    return found;
  }

  private org.apache.spark.sql.vectorized.ColumnVector virtualColumn(
      int column, DataType type, Columns.Moments moments) {
    ColumnVector vector = null;
    Object constant = null;
    if (column == AcidTable.ROW_ID_COLUMN) {
      return rowIds((StructType) type, moments);
    }
    if (column == AcidTable.PARTITION_COLUMN) {
      constant = Integer.valueOf(part.ordinal);
    } else if (column == AcidTable.IS_DELETED_COLUMN && deleted == null) {
      constant = Boolean.FALSE;
    } else if (column == AcidTable.OPERATION_COLUMN && isEvents) {
      vector = batch.cols[OPERATION];
    } else if (column == AcidTable.OPERATION_COLUMN) {
      constant = Integer.valueOf(0);
    } else if (column == AcidTable.IS_DELETED_COLUMN) {
      vector = isDeleted = new LongColumnVector(plan.batchRows);
    } else if (plan.deletedRows == AcidTable.ONLY) {
      vector = deleters = new LongColumnVector(plan.batchRows);
    } else if (isEvents) {
      vector = batch.cols[CURRENT_WRITE_ID];
    } else {
      constant = Long.valueOf(part.writeId);
    }
    return vector == null
        ? (org.apache.spark.sql.vectorized.ColumnVector) new ConstantColumn(type, constant)
        : Columns.shown(type, type, vector, counted, moments);
  }

  /** Finds or creates the vectors of the parts of row ids. */
  private void findIds() {
    for (int i = 0; i < ids.length; i++) {
      ids[i] = isEvents ? batch.cols[WRITE_ID + i] : new LongColumnVector(plan.batchRows);
    }
    if (!isEvents) {
      ((LongColumnVector) ids[0]).fill(part.writeId);
      ((LongColumnVector) ids[1]).fill(part.bucket);
    }
  }

  private org.apache.spark.sql.vectorized.ColumnVector rowIds(
      StructType type, Columns.Moments moments) {
    StructField[] fields = type.fields();
    Columns.FileColumn[] found = new Columns.FileColumn[fields.length];
    for (int i = 0; i < fields.length; i++) {
      int id = AcidTable.ROW_ID.fieldIndex(fields[i].name());
      ColumnVector vector = ids[id];
      if (id == 0 && plan.deletedRows == AcidTable.SHOWN && deleted != null) {
        // The row id of a deleted row shows the write id of the delete.
        shownWriteIds = new LongColumnVector(plan.batchRows);
        vector = shownWriteIds;
      }
      DataType field = fields[i].dataType();
      found[i] = Columns.shown(field, field, vector, counted, moments);
    }
    return new Columns.StructColumn(type, new LongColumnVector(1), Columns.Rows.ALL, found);
  }

  // ---- Reading

  /** Reads the next batch that has rows to return; returns null at the end. */
  ColumnarBatch next() throws Exception {
    if (rows == null) {
      rows = reader.rows(options);
    }
    while (deleted != null || plan.deletedRows != AcidTable.ONLY) {
      long first = isEvents || !needsIds ? 0 : part.firstRowId + rows.getRowNumber();
      batch.size = 0;
      for (int i = 0; !isEvents && i < vectors.length; i++) {
        Vectors.reset(vectors[i]); // for events, RowVector does this
      }
      if (!rows.nextBatch(batch)) {
        return null;
      }
      if (!isEvents && needsIds) {
        long[] numbers = ((LongColumnVector) ids[2]).vector;
        for (int i = 0; i < batch.size; i++) {
          numbers[i] = first + i;
        }
      }
      int count = count();
      if (count > 0) {
        shown.setNumRows(count);
        return shown;
      }
    }
    return null;
  }

  /** Finds the rows of a batch to return; returns their number. */
  private int count() {
    int size = batch.size;
    boolean isSelected = batch.selectedInUse;
    counted.positions = null;
    if (!isSelected && part.visible == null && deleted == null) {
      return size;
    }
    if (positions.length < batch.getMaxSize()) {
      positions = new int[batch.getMaxSize()];
    }
    LongColumnVector current =
        part.visible == null ? null : (LongColumnVector) batch.cols[CURRENT_WRITE_ID];
    LongColumnVector writeIds = (LongColumnVector) ids[0];
    LongColumnVector buckets = (LongColumnVector) ids[1];
    LongColumnVector rowIds = (LongColumnVector) ids[2];
    int found = 0;
    for (int i = 0; i < size; i++) {
      int row = isSelected ? batch.selected[i] : i;
      if (current != null && !part.visible.has(current.vector[current.isRepeating ? 0 : row])) {
        continue;
      }
      if (deleted != null) {
        long writeId = writeIds.vector[writeIds.isRepeating ? 0 : row];
        long bucket = buckets.vector[buckets.isRepeating ? 0 : row];
        long rowId = rowIds.vector[rowIds.isRepeating ? 0 : row];
        boolean isGone = deleted.has(writeId, bucket, rowId);
        if (plan.deletedRows == (isGone ? AcidTable.HIDDEN : AcidTable.ONLY)) {
          continue;
        }
        if (isDeleted != null) {
          isDeleted.vector[row] = isGone ? 1 : 0;
        }
        if (shownWriteIds != null) {
          shownWriteIds.vector[row] =
              isGone ? deleted.deleterOf(writeId, bucket, rowId, false) : writeId;
        }
        if (deleters != null) {
          deleters.vector[row] = deleted.deleterOf(writeId, bucket, rowId, true);
        }
      }
      positions[found++] = row;
    }
    counted.positions = found == size && !isSelected ? null : positions;
    return found;
  }

  void close() throws IOException {
    try {
      if (rows != null) {
        rows.close();
      }
    } finally {
      reader.close();
    }
  }

  // ---- Properties of the file

  long numberOfRows() {
    return reader.getNumberOfRows();
  }

  /** Returns whether a required column has the same value, or NULL, in all rows. */
  boolean isConstant(int column) {
    int position = plan.positions[column];
    return position >= plan.dataColumns || places[position] < 0;
  }

  Object constant(int column) {
    int position = plan.positions[column];
    return position < plan.dataColumns
        ? plan.initial[position]
        : part.partition[position - plan.dataColumns];
  }

  /** Returns the statistics of a required column, or null if it has another type in the file. */
  ColumnStatistics statisticsOf(int column) {
    int position = plan.positions[column];
    TypeDescription inFile = (TypeDescription) fileTypes.get(places[position]);
    DataType type = plan.declared.fields()[position].dataType();
    ColumnStatistics[] known = reader.getStatistics();
    boolean isKnown = inFile.getId() < known.length;
    return isKnown && Vectors.isSame(Vectors.orcType(type, inFile), inFile) ? known[inFile.getId()] : null;
  }

  /** Returns ranges of the row ids in the file part, from the file's statistics. */
  private DeleteEvents.KeyRange keyRange() throws IOException {
    if (!isEvents) {
      long last = part.firstRowId + reader.getNumberOfRows() - 1;
      return new DeleteEvents.KeyRange(
          new long[] {
            part.writeId, part.writeId, part.bucket, part.bucket, part.firstRowId, last
          });
    }
    boolean isLarge = false;
    for (int i = 0; i < part.deletes.length; i++) {
      isLarge |= DeleteEvents.isLarge(part.deletes[i]);
    }
    List stripes = reader.getStripes();
    if (!isLarge || stripes.size() < 2) {
      return new DeleteEvents.KeyRange(bounds(reader.getStatistics(), new long[0]));
    }
    // Large delete files are not cached, so narrow ranges avoid reading events.
    long[] bounds = new long[0];
    List statistics = reader.getStripeStatistics();
    for (int i = 0; i < stripes.size(); i++) {
      long offset = ((StripeInformation) stripes.get(i)).getOffset();
      if (offset >= part.start && offset < part.start + part.length) {
        bounds = bounds(((StripeStatistics) statistics.get(i)).getColumnStatistics(), bounds);
        if (bounds.length == 0) {
          break;
        }
      }
    }
    return new DeleteEvents.KeyRange(bounds);
  }

  /** Widens bounds, if there are any, by statistics; returns none if statistics are missing. */
  private long[] bounds(ColumnStatistics[] statistics, long[] others) {
    long[] found = new long[6];
    List columns = reader.getSchema().getChildren();
    for (int i = 0; i < 3; i++) {
      int id = ((TypeDescription) columns.get(WRITE_ID + i)).getId();
      ColumnStatistics own = id < statistics.length ? statistics[id] : null;
      if (!(own instanceof IntegerColumnStatistics) || own.getNumberOfValues() == 0) {
        return new long[0];
      }
      long least = ((IntegerColumnStatistics) own).getMinimum();
      long greatest = ((IntegerColumnStatistics) own).getMaximum();
      found[2 * i] = others.length == 0 ? least : Math.min(least, others[2 * i]);
      found[2 * i + 1] = others.length == 0 ? greatest : Math.max(greatest, others[2 * i + 1]);
    }
    return found;
  }

  public String nameOf(String column) {
    int position = plan.positionOf(column);
    if (position < 0 || places[position] < 0) {
      return null;
    }
    String name = (String) fileNames.get(places[position]);
    DataType type = plan.declared.fields()[position].dataType();
    // ORC would interpret a name with a dot or a quote as a path.
    boolean isPlain = name.matches("[A-Za-z_][A-Za-z0-9_]*");
    TypeDescription inFile = (TypeDescription) fileTypes.get(places[position]);
    return isPlain && plan.isRead(position) && Vectors.isSame(Vectors.orcType(type, inFile), inFile)
        ? name
        : null;
  }

  public boolean isInstant(String column) {
    int position = plan.positionOf(column);
    TypeDescription inFile = (TypeDescription) fileTypes.get(places[position]);
    return plan.isInUtc && inFile.getCategory() == TypeDescription.Category.TIMESTAMP_INSTANT;
  }

  public DataType typeOf(String column) {
    return plan.declared.fields()[plan.positionOf(column)].dataType();
  }
}
