package acidsql.writer;

import java.util.List;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.Decimal64ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DecimalColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DoubleColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ListColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.MapColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.orc.TypeDescription;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.catalyst.util.RebaseDateTime;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/** Copies the values of one column, or of one nested field, from Spark's rows to an ORC vector. */
abstract class Cells {
  private static final long MICROS = 1000000L;
  private static final long DAY = 86400L * MICROS;

  final ColumnVector vector;

  Cells(ColumnVector vector) {
    this.vector = vector;
  }

  /** Set a value that is not NULL. */
  abstract void setValue(int at, SpecializedGetters from, int ordinal);

  final void set(int at, SpecializedGetters from, int ordinal) {
    if (from.isNullAt(ordinal)) {
      vector.noNulls = false;
      vector.isNull[at] = true;
    } else {
      vector.isNull[at] = false;
      setValue(at, from, ordinal);
    }
  }

  /** Append the elements of an array to the vector of a list's or a map's children. */
  final void setAll(int first, ArrayData from, int count) {
    for (int i = 0; i < count; i++) {
      set(first + i, from, i);
    }
  }

  /**
   * Return an object that fills a vector with values of a type, by the rules of Spark's ORC writer.
   *
   * @param stored type in the file
   * @param times converts instants to local times; null if ORC's writer converts them in the time
   *     zone of the JVM
   */
  static Cells of(DataType type, TypeDescription stored, ColumnVector vector, LocalTimes times) {
    List children = stored.getChildren();
    if (type instanceof BooleanType) return new Booleans(vector);
    if (type instanceof ByteType) return new Bytes(vector);
    if (type instanceof ShortType) return new Shorts(vector);
    if (type instanceof IntegerType) return new Ints(vector);
    if (type instanceof LongType) return new Longs(vector);
    if (type instanceof FloatType) return new Floats(vector);
    if (type instanceof DoubleType) return new Doubles(vector);
    if (type instanceof StringType) return new Texts(vector);
    if (type instanceof BinaryType) return new Binaries(vector);
    if (type instanceof DateType) return new Dates(vector);
    if (stored.getCategory() == TypeDescription.Category.TIMESTAMP_INSTANT)
      return new WallClocks(vector); // wall clock of UTC
    if (type instanceof TimestampType)
      return times == null ? (Cells) new Moments(vector) : new Timestamps(vector, times);
    if (type instanceof TimestampNTZType) return new WallClocks(vector);
    if (type instanceof DecimalType) {
      DecimalType decimal = (DecimalType) type;
      return vector instanceof Decimal64ColumnVector
          ? (Cells) new ShortDecimals(vector, decimal)
          : (Cells) new LongDecimals(vector, decimal);
    }
    if (type instanceof ArrayType) return new Lists(vector, (ArrayType) type, children, times);
    if (type instanceof MapType) return new Maps(vector, (MapType) type, children, times);
    if (type instanceof StructType) return new Structs(vector, (StructType) type, children, times);
    throw new UnsupportedOperationException("no ORC file holds values of " + type.catalogString());
  }

  abstract static class OfLongs extends Cells {
    final LongColumnVector values;

    OfLongs(ColumnVector vector) {
      super(vector);
      values = (LongColumnVector) vector;
    }
  }

  abstract static class OfDoubles extends Cells {
    final DoubleColumnVector values;

    OfDoubles(ColumnVector vector) {
      super(vector);
      values = (DoubleColumnVector) vector;
    }
  }

  abstract static class OfBytes extends Cells {
    final BytesColumnVector values;

    OfBytes(ColumnVector vector) {
      super(vector);
      values = (BytesColumnVector) vector;
    }
  }

  abstract static class OfTimestamps extends Cells {
    final TimestampColumnVector values;

    OfTimestamps(ColumnVector vector) {
      super(vector);
      values = (TimestampColumnVector) vector;
    }
  }

  static final class Booleans extends OfLongs {
    Booleans(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] = from.getBoolean(ordinal) ? 1 : 0;
    }
  }

  static final class Bytes extends OfLongs {
    Bytes(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] = from.getByte(ordinal);
    }
  }

  static final class Shorts extends OfLongs {
    Shorts(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] = from.getShort(ordinal);
    }
  }

  static final class Ints extends OfLongs {
    Ints(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] = from.getInt(ordinal);
    }
  }

  static final class Longs extends OfLongs {
    Longs(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] = from.getLong(ordinal);
    }
  }

  static final class Floats extends OfDoubles {
    Floats(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] = from.getFloat(ordinal);
    }
  }

  static final class Doubles extends OfDoubles {
    Doubles(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] = from.getDouble(ordinal);
    }
  }

  static final class Texts extends OfBytes {
    Texts(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      UTF8String text = from.getUTF8String(ordinal);
      Object base = text.getBaseObject();
      if (base instanceof byte[]) {
        int start = (int) (text.getBaseOffset() - Platform.BYTE_ARRAY_OFFSET);
        values.setVal(at, (byte[]) base, start, text.numBytes());
      } else {
        values.setVal(at, text.getBytes());
      }
    }
  }

  static final class Binaries extends OfBytes {
    Binaries(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.setVal(at, from.getBinary(ordinal));
    }
  }

  /** Days, which files store in Hive 3's calendar: Julian before 1582-10-15. */
  static final class Dates extends OfLongs {
    Dates(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] = RebaseDateTime.rebaseGregorianToJulianDays(from.getInt(ordinal));
    }
  }

  /** Instants, for which ORC's writer stores the local time in the JVM's zone. */
  static final class Moments extends OfTimestamps {
    Moments(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      setMicros(values, at, RebaseDateTime.rebaseGregorianToJulianMicros(from.getLong(ordinal)));
    }
  }

  /** Instants, written as local times in the session's zone. */
  static final class Timestamps extends OfTimestamps {
    private final LocalTimes times;

    Timestamps(ColumnVector vector, LocalTimes times) {
      super(vector);
      this.times = times;
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      setLocal(values, at, times.of(from.getLong(ordinal)));
    }
  }

  /** Local times. */
  static final class WallClocks extends OfTimestamps {
    WallClocks(ColumnVector vector) {
      super(vector);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      setLocal(values, at, from.getLong(ordinal));
    }
  }

  /** Set a local time, whose day is in Hive 3's calendar. */
  static void setLocal(TimestampColumnVector values, int at, long micros) {
    long day = Math.floorDiv(micros, DAY);
    long rebased = RebaseDateTime.rebaseGregorianToJulianDays((int) day);
    setMicros(values, at, rebased * DAY + (micros - day * DAY));
  }

  static void setMicros(TimestampColumnVector values, int at, long micros) {
    long fraction = Math.floorMod(micros, MICROS);
    values.time[at] = Math.floorDiv(micros, 1000L);
    values.nanos[at] = (int) (fraction * 1000L);
  }

  /** Decimals of up to 18 digits, which both sides store as a long. */
  static final class ShortDecimals extends Cells {
    private final LongColumnVector values;
    private final DecimalType type;

    ShortDecimals(ColumnVector vector, DecimalType type) {
      super(vector);
      values = (LongColumnVector) vector;
      this.type = type;
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      values.vector[at] =
          from instanceof UnsafeRow || from instanceof UnsafeArrayData
              ? from.getLong(ordinal)
              : from.getDecimal(ordinal, type.precision(), type.scale()).toUnscaledLong();
    }
  }

  static final class LongDecimals extends Cells {
    private final DecimalColumnVector values;
    private final DecimalType type;

    LongDecimals(ColumnVector vector, DecimalType type) {
      super(vector);
      values = (DecimalColumnVector) vector;
      this.type = type;
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      java.math.BigDecimal value =
          from.getDecimal(ordinal, type.precision(), type.scale()).toJavaBigDecimal();
      values.set(at, HiveDecimal.create(value));
    }
  }

  static final class Lists extends Cells {
    private final ListColumnVector lists;
    private final Cells elements;

    Lists(ColumnVector vector, ArrayType type, List stored, LocalTimes times) {
      super(vector);
      lists = (ListColumnVector) vector;
      elements = Cells.of(type.elementType(), (TypeDescription) stored.get(0), lists.child, times);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      ArrayData array = from.getArray(ordinal);
      int count = array.numElements(), first = lists.childCount;
      lists.offsets[at] = first;
      lists.lengths[at] = count;
      lists.childCount = first + count;
      lists.child.ensureSize(lists.childCount, first != 0);
      elements.setAll(first, array, count);
    }
  }

  static final class Maps extends Cells {
    private final MapColumnVector maps;
    private final Cells keys, values;

    Maps(ColumnVector vector, MapType type, List stored, LocalTimes times) {
      super(vector);
      maps = (MapColumnVector) vector;
      keys = Cells.of(type.keyType(), (TypeDescription) stored.get(0), maps.keys, times);
      values = Cells.of(type.valueType(), (TypeDescription) stored.get(1), maps.values, times);
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      MapData map = from.getMap(ordinal);
      int count = map.numElements(), first = maps.childCount;
      maps.offsets[at] = first;
      maps.lengths[at] = count;
      maps.childCount = first + count;
      maps.keys.ensureSize(maps.childCount, first != 0);
      maps.values.ensureSize(maps.childCount, first != 0);
      keys.setAll(first, map.keyArray(), count);
      values.setAll(first, map.valueArray(), count);
    }
  }

  static final class Structs extends Cells {
    private final Cells[] fields;

    Structs(ColumnVector vector, StructType type, List stored, LocalTimes times) {
      super(vector);
      fields = new Cells[type.length()];
      for (int i = 0; i < fields.length; i++) {
        ColumnVector field = ((StructColumnVector) vector).fields[i];
        TypeDescription own = (TypeDescription) stored.get(i);
        fields[i] = Cells.of(type.fields()[i].dataType(), own, field, times);
      }
    }

    void setValue(int at, SpecializedGetters from, int ordinal) {
      InternalRow struct = from.getStruct(ordinal, fields.length);
      for (int i = 0; i < fields.length; i++) {
        fields[i].set(at, struct, i);
      }
    }
  }
}
