package acidsql.orc;

import java.io.Serializable;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.orc.ColumnStatistics;
import org.apache.orc.DateColumnStatistics;
import org.apache.orc.DecimalColumnStatistics;
import org.apache.orc.IntegerColumnStatistics;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Counts, lowest and highest values of columns, which the statistics of files contain. */
final class Aggregates implements Serializable {
  private static final int COUNT_ALL = 0;
  private static final int COUNT = 1;
  private static final int MIN = 2;
  private static final int MAX = 3;
  private static final long FIRST_GREGORIAN_DAY = -141427; // 1582-10-15
  final StructType columns; // the aggregated columns
  final StructType result; // columns of the row that a task returns
  private final int[] functions;
  private final int[] places; // for each function, index of its column, or -1
  private final long counted; // number of rows if known without files, or -1

  private Aggregates(
      StructType columns, StructType result, int[] functions, int[] places, long counted) {
    this.columns = columns;
    this.result = result;
    this.functions = functions;
    this.places = places;
    this.counted = counted;
  }

  /** Returns whether all functions count all rows. */
  boolean isCount() {
    boolean isCount = true;
    for (int i = 0; i < functions.length; i++) {
      isCount &= functions[i] == COUNT_ALL;
    }
    return isCount;
  }

  /** Returns these aggregates for a known number of rows, without reading files. */
  Aggregates of(long rows) {
    return new Aggregates(columns, result, functions, places, rows);
  }

  /** Returns the aggregates that Spark requests, or null if statistics do not contain them all. */
  static Aggregates of(AcidTable table, Aggregation wanted) {
    AggregateFunc[] all = wanted.aggregateExpressions();
    int[] functions = new int[all.length];
    int[] places = new int[all.length];
    StructType columns = new StructType();
    StructType result = new StructType();
    for (int i = 0; i < all.length; i++) {
      DataType type = DataTypes.LongType;
      places[i] = -1;
      if (!(all[i] instanceof CountStar)) {
        boolean isCount = all[i] instanceof Count && !((Count) all[i]).isDistinct();
        functions[i] = isCount ? COUNT : all[i] instanceof Min ? MIN : MAX;
        if (!isCount && !(all[i] instanceof Min) && !(all[i] instanceof Max)) {
          return null;
        }
        Expression argument = all[i].children()[0];
        String name = SearchArguments.columnOf(argument);
        int position = name == null ? -1 : table.positionOf(name);
        if (position < 0 || !isTold(table.schema().fields()[position].dataType())) {
          return null;
        }
        scala.Option known = columns.getFieldIndex(name);
        if (known.isEmpty()) {
          columns = columns.add(table.schema().fields()[position]);
        }
        places[i] = ((Integer) columns.getFieldIndex(name).get()).intValue();
        type = isCount ? type : columns.fields()[places[i]].dataType();
      }
      result = result.add(all[i].toString(), type);
    }
    boolean isGrouped = wanted.groupByExpressions().length > 0;
    return isGrouped ? null : new Aggregates(columns, result, functions, places, -1);
  }

  /** Returns whether the lowest and highest values of a type in statistics are also Spark's. */
  private static boolean isTold(DataType type) {
    return type instanceof ByteType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType
        || type instanceof DateType
        || type instanceof DecimalType;
  }

  /** Returns the aggregates over no rows. */
  Object[] none() {
    Object[] found = new Object[functions.length];
    for (int i = 0; i < found.length; i++) {
      found[i] = functions[i] <= COUNT ? Long.valueOf(Math.max(0, counted)) : null;
    }
    return found;
  }

  /** Adds the rows of a file to aggregates. */
  void add(FileReader file, Object[] found) throws Exception {
    boolean isTold = true;
    Object[] of = none();
    for (int i = 0; isTold && i < of.length; i++) {
      if (functions[i] == COUNT_ALL) {
        of[i] = Long.valueOf(file.numberOfRows());
      } else if (file.isConstant(places[i])) {
        Object value = file.numberOfRows() == 0 ? null : file.constant(places[i]);
        long count = value == null ? 0 : file.numberOfRows();
        of[i] = functions[i] == COUNT ? Long.valueOf(count) : value;
      } else {
        ColumnStatistics known = file.statisticsOf(places[i]);
        isTold = known != null && isComplete(known, file.numberOfRows());
        if (isTold && functions[i] == COUNT) {
          of[i] = Long.valueOf(known.getNumberOfValues());
        } else if (isTold) {
          of[i] = value(known, functions[i] == MIN, columns.fields()[places[i]].dataType());
          isTold = of[i] != null;
        }
      }
    }
    merge(isTold ? of : read(file), found);
  }

  /**
   * Returns whether statistics are complete. For a column with only NULL, they look like missing
   * statistics, which other writers may have omitted.
   */
  private static boolean isComplete(ColumnStatistics known, long rows) {
    long values = known.getNumberOfValues();
    return values > 0 && values <= rows && (known.hasNull() || values == rows);
  }

  /** Returns the lowest or highest value, or null if it is unknown. */
  private static Object value(ColumnStatistics known, boolean isLeast, DataType type) {
    if (known instanceof IntegerColumnStatistics) {
      IntegerColumnStatistics of = (IntegerColumnStatistics) known;
      return of.getMinimum() > of.getMaximum()
          ? null
          : number(isLeast ? of.getMinimum() : of.getMaximum(), type);
    }
    if (known instanceof DateColumnStatistics && type instanceof DateType) {
      DateColumnStatistics of = (DateColumnStatistics) known;
      // Earlier days may belong to another calendar.
      boolean isSafe =
          of.getMinimumDayOfEpoch() >= FIRST_GREGORIAN_DAY
              && of.getMinimumDayOfEpoch() <= of.getMaximumDayOfEpoch();
      long day = isLeast ? of.getMinimumDayOfEpoch() : of.getMaximumDayOfEpoch();
      return isSafe ? Integer.valueOf((int) day) : null;
    }
    if (known instanceof DecimalColumnStatistics && type instanceof DecimalType) {
      DecimalColumnStatistics of = (DecimalColumnStatistics) known;
      DecimalType decimal = (DecimalType) type;
      HiveDecimal value = isLeast ? of.getMinimum() : of.getMaximum();
      return value == null
          ? null
          : Decimal.apply(value.bigDecimalValue(), decimal.precision(), decimal.scale());
    }
    return null;
  }

  private static Object number(long value, DataType type) {
    if (type instanceof ByteType) {
      return Byte.valueOf((byte) value);
    }
    if (type instanceof ShortType) {
      return Short.valueOf((short) value);
    }
    if (type instanceof IntegerType) {
      return Integer.valueOf((int) value);
    }
    return type instanceof LongType ? Long.valueOf(value) : null;
  }

  /** Computes the aggregates of a file from its rows. */
  private Object[] read(FileReader file) throws Exception {
    Object[] found = none();
    for (ColumnarBatch batch = file.next(); batch != null; batch = file.next()) {
      for (int row = 0; row < batch.numRows(); row++) {
        InternalRow values = batch.getRow(row);
        Object[] one = none();
        for (int i = 0; i < one.length; i++) {
          boolean isNull = places[i] >= 0 && values.isNullAt(places[i]);
          if (functions[i] <= COUNT) {
            one[i] = Long.valueOf(isNull ? 0 : 1);
          } else if (!isNull) {
            one[i] = values.get(places[i], columns.fields()[places[i]].dataType());
          }
        }
        merge(one, found);
      }
    }
    return found;
  }

  private void merge(Object[] of, Object[] found) {
    for (int i = 0; i < found.length; i++) {
      if (functions[i] <= COUNT) {
        found[i] = Long.valueOf(((Long) found[i]).longValue() + ((Long) of[i]).longValue());
      } else if (found[i] == null) {
        found[i] = of[i];
      } else if (of[i] != null) {
        int order = ((Comparable) of[i]).compareTo(found[i]);
        found[i] = (functions[i] == MIN ? order < 0 : order > 0) ? of[i] : found[i];
      }
    }
  }
}
