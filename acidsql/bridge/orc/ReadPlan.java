package acidsql.orc;

import java.io.Serializable;
import java.util.Arrays;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Columns and predicates that the tasks of a scan apply to each file. */
final class ReadPlan implements Serializable {
  final StructType required; // schema that Spark sees
  final StructType declared; // the table's columns in files, with CHAR and VARCHAR
  final int dataColumns; // number of these; partition columns follow in positions
  final int[] positions; // positions of the required columns, see AcidTable.positionOf
  final int deletedRows; // how to treat deleted rows, see AcidTable
  /** Key of the metadata of columns with instants. */
  static final String INSTANTS = "acidsql.instants";

  final boolean isInUtc; // whether not all timestamps are instants stored as local times
  final Predicate[] predicates; // a reader can omit rows that do not meet all of these
  final String zone;
  final int batchRows;
  final Object[] initial; // see AcidTable
  private final int[] columns; // by position in the table: index of the required column or -1
  private final boolean[] hasVirtual; // by index of the metadata column: whether it is required

  ReadPlan(AcidTable table, StructType required, Predicate[] predicates) {
    this.required = required;
    this.declared = table.declared;
    this.dataColumns = declared.length();
    this.deletedRows = table.deletedRows;
    this.predicates = predicates;
    this.zone = table.zone;
    this.batchRows = SQLConf.get().orcVectorizedReaderBatchSize();
    this.initial = table.initial();
    StructField[] fields = required.fields();
    positions = new int[fields.length];
    columns = new int[dataColumns];
    Arrays.fill(columns, -1);
    hasVirtual = new boolean[AcidTable.METADATA_COLUMNS];
    for (int i = 0; i < fields.length; i++) {
      positions[i] = table.positionOf(fields[i].name());
      if (positions[i] < 0) {
        hasVirtual[-1 - positions[i]] = true;
      } else if (positions[i] < dataColumns) {
        columns[positions[i]] = i;
      }
    }
    boolean hasOthers = declared.catalogString().contains("timestamp_ntz");
    StructField[] all = declared.fields();
    for (int i = 0; i < all.length; i++) {
      hasOthers |= all[i].metadata().contains(INSTANTS);
    }
    this.isInUtc = hasOthers;
  }

  /** Returns the index of the required column at a position in the table, or -1. */
  int columnAt(int position) {
    return columns[position];
  }

  /** Returns whether a metadata column is required. */
  boolean reads(int virtual) {
    return hasVirtual[virtual];
  }

  boolean isRead(int position) {
    return columns[position] >= 0;
  }

  /** Returns the position of a column in the table, ignoring the case of its name, or -1. */
  int positionIgnoringCase(String name) {
    String[] names = declared.fieldNames();
    for (int i = 0; i < names.length; i++) {
      if (names[i].equalsIgnoreCase(name)) {
        return i;
      }
    }
    return -1;
  }

  /** Returns the position of a column in the files of the table, or -1. */
  int positionOf(String column) {
    scala.Option found = declared.getFieldIndex(column);
    return found.isDefined() ? ((Integer) found.get()).intValue() : -1;
  }
}
