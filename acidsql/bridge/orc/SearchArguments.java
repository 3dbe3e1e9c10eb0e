package acidsql.orc;

import java.sql.Date;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.hive.common.type.HiveDecimal;
import org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgumentFactory;
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.LiteralValue;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Search argument (SARG) of a file: the predicates by which ORC skips its stripes, row groups and
 * rows.
 *
 * <p>It omits comparisons that differ between Spark and ORC: NULL in a list, {@code <=>},
 * floating-point numbers (NaN, -0.0), instants that files store as local times (time zones), CHAR
 * and VARCHAR, days where the calendars differ, and strings with characters that UTF-8 and Java
 * order differently.
 */
final class SearchArguments {
  // The first day of the Gregorian calendar, 1582-10-15, in days since 1970.
  private static final int FIRST_GREGORIAN_DAY = -141427;
  // From 1970-01-02 to 9999-12-31, in microseconds since 1970.
  private static final long FIRST_MICROS = 86400000000L;
  private static final long LAST_MICROS = 2932896L * FIRST_MICROS;
  private final KnownColumns columns;
  private final Set used = new HashSet(); // the file's names of the compared columns

  /** Columns of a file that ORC can compare with values. */
  interface KnownColumns {
    /** Returns the file's name for a table column, or null if ORC must not compare the column. */
    String nameOf(String column);

    /** Returns the type of a column of the table. */
    DataType typeOf(String column);

    /** Returns whether the file stores a timestamp as an instant. */
    boolean isInstant(String column);
  }

  SearchArguments(KnownColumns columns) {
    this.columns = columns;
  }

  /** Returns the file's names of the compared columns. */
  Set used() {
    return used;
  }

  /** Returns the search argument for predicates that must all be true; null if ORC can use none. */
  SearchArgument of(Predicate[] predicates) {
    SearchArgument.Builder builder = SearchArgumentFactory.newBuilder().startAnd();
    boolean isEmpty = true;
    for (int i = 0; i < predicates.length; i++) {
      isEmpty &= !addParts(builder, predicates[i]);
    }
    return isEmpty ? null : builder.end().build();
  }

  /** Adds the parts of a conjunction that ORC can use; returns whether it added any. */
  private boolean addParts(SearchArgument.Builder builder, Expression predicate) {
    if (predicate instanceof Predicate && ((Predicate) predicate).name().equals("AND")) {
      Expression[] children = ((Predicate) predicate).children();
      boolean left = addParts(builder, children[0]);
      return addParts(builder, children[1]) | left;
    }
    if (!isApplicable(predicate)) {
      return false;
    }
    add(builder, predicate);
    return true;
  }

  private boolean isApplicable(Expression expression) {
    if (!(expression instanceof Predicate)) {
      return false;
    }
    Predicate predicate = (Predicate) expression;
    Expression[] children = predicate.children();
    String name = predicate.name();
    if (name.equals("AND") || name.equals("OR")) {
      return isApplicable(children[0]) && isApplicable(children[1]);
    }
    if (name.equals("NOT")) {
      // For a negated range, ORC's row filter does not omit NULL, but Spark does.
      return children[0] instanceof Predicate
          && isOneOf(((Predicate) children[0]).name(), "=", "IN", "IS_NULL", "IS_NOT_NULL")
          && isApplicable(children[0])
          && !isRange((Predicate) children[0]);
    }
    if (children.length == 0 || !isComparable(children[0])) {
      return false;
    }
    if (name.equals("IS_NULL") || name.equals("IS_NOT_NULL")) {
      return true;
    }
    if (name.equals("<>") && isInstant(children[0])) {
      return false;
    }
    if (isOneOf(name, "=", "<>", "<", "<=", ">", ">=") || name.equals("IN")) {
      for (int i = 1; i < children.length; i++) {
        if (valueOf(children[i], typeOf(children[0])) == null) {
          return false;
        }
      }
      return children.length > 1;
    }
    return false;
  }

  /** Returns whether an equality comparison becomes a range for ORC. */
  private boolean isRange(Predicate predicate) {
    return isOneOf(predicate.name(), "=", "IN") && isInstant(predicate.children()[0]);
  }

  private boolean isInstant(Expression reference) {
    return typeOf(reference) instanceof TimestampType;
  }

  private static boolean isOneOf(String name, String... names) {
    for (int i = 0; i < names.length; i++) {
      if (name.equals(names[i])) {
        return true;
      }
    }
    return false;
  }

  private void add(SearchArgument.Builder builder, Expression expression) {
    Predicate predicate = (Predicate) expression;
    Expression[] children = predicate.children();
    String name = predicate.name();
    if (name.equals("AND") || name.equals("OR")) {
      SearchArgument.Builder inner = name.equals("AND") ? builder.startAnd() : builder.startOr();
      add(inner, children[0]);
      add(inner, children[1]);
      inner.end();
      return;
    }
    if (name.equals("NOT")) {
      add(builder.startNot(), children[0]);
      builder.end();
      return;
    }
    DataType type = typeOf(children[0]);
    String column = columns.nameOf(columnOf(children[0]));
    used.add(column);
    PredicateLeaf.Type kind = kindOf(type);
    if (name.equals("IS_NULL")) {
      builder.isNull(column, kind);
    } else if (name.equals("IS_NOT_NULL")) {
      builder.startNot().isNull(column, kind).end();
    } else if (kind == PredicateLeaf.Type.TIMESTAMP) {
      addInstants(builder, column, name, children);
    } else if (name.equals("IN")) {
      Object[] values = new Object[children.length - 1];
      for (int i = 0; i < values.length; i++) {
        values[i] = valueOf(children[i + 1], type);
      }
      builder.in(column, kind, values);
    } else {
      Object value = valueOf(children[1], type);
      if (name.equals("=")) {
        builder.equals(column, kind, value);
      } else if (name.equals("<>")) {
        builder.startNot().equals(column, kind, value).end();
      } else if (name.equals("<")) {
        builder.lessThan(column, kind, value);
      } else if (name.equals("<=")) {
        builder.lessThanEquals(column, kind, value);
      } else if (name.equals(">")) {
        builder.startNot().lessThanEquals(column, kind, value).end();
      } else {
        builder.startNot().lessThan(column, kind, value).end();
      }
    }
  }

  /**
   * Adds a comparison of an instant. Files store nanoseconds, but Spark has microseconds, so a
   * value covers all nanoseconds up to the next microsecond.
   */
  private void addInstants(
      SearchArgument.Builder builder, String column, String name, Expression[] children) {
    PredicateLeaf.Type kind = PredicateLeaf.Type.TIMESTAMP;
    if (name.equals("=") || name.equals("IN")) {
      SearchArgument.Builder any = children.length > 2 ? builder.startOr() : builder;
      for (int i = 1; i < children.length; i++) {
        any.startAnd();
        any.startNot().lessThan(column, kind, instant(children[i], 0)).end();
        any.lessThan(column, kind, instant(children[i], 1)).end();
      }
      if (children.length > 2) {
        any.end();
      }
      return;
    }
    Timestamp bound = instant(children[1], isOneOf(name, "<=", ">") ? 1 : 0);
    if (isOneOf(name, "<", "<=")) {
      builder.lessThan(column, kind, bound);
    } else {
      builder.startNot().lessThan(column, kind, bound).end();
    }
  }

  /** Returns the instant of a literal plus some microseconds. */
  private static Timestamp instant(Expression literal, int later) {
    long micros = ((Number) ((LiteralValue) literal).value()).longValue() + later;
    Timestamp found = new Timestamp(Math.floorDiv(micros, 1000L));
    found.setNanos((int) Math.floorMod(micros, 1000000L) * 1000);
    return found;
  }

  private boolean isComparable(Expression expression) {
    String column = columnOf(expression);
    return column != null
        && columns.nameOf(column) != null
        && kindOf(columns.typeOf(column)) != null
        && (!(columns.typeOf(column) instanceof TimestampType) || columns.isInstant(column));
  }

  /** Returns the name of a table column; null for other expressions and nested fields. */
  static String columnOf(Expression expression) {
    if (!(expression instanceof NamedReference)) {
      return null;
    }
    String[] parts = ((NamedReference) expression).fieldNames();
    return parts.length == 1 ? parts[0] : null;
  }

  private DataType typeOf(Expression reference) {
    return columns.typeOf(columnOf(reference));
  }

  /** Returns ORC's type for comparing values; null if Spark compares them differently. */
  private static PredicateLeaf.Type kindOf(DataType type) {
    if (type instanceof BooleanType) {
      return PredicateLeaf.Type.BOOLEAN;
    } else if (type instanceof ByteType
        || type instanceof ShortType
        || type instanceof IntegerType
        || type instanceof LongType) {
      return PredicateLeaf.Type.LONG;
    } else if (type instanceof DecimalType) {
      return PredicateLeaf.Type.DECIMAL;
    } else if (type instanceof DateType) {
      return PredicateLeaf.Type.DATE;
    } else if (type instanceof StringType) {
      return PredicateLeaf.Type.STRING;
    } else if (type instanceof TimestampType) {
      return PredicateLeaf.Type.TIMESTAMP;
    }
    return null;
  }

  /** Converts a literal for ORC; returns null if it is NULL or does not have the column's type. */
  private static Object valueOf(Expression expression, DataType type) {
    if (!(expression instanceof LiteralValue)) {
      return null;
    }
    LiteralValue literal = (LiteralValue) expression;
    Object value = literal.value();
    if (value == null || !literal.dataType().equals(type)) {
      return null;
    }
    if (type instanceof BooleanType) {
      return value;
    } else if (type instanceof DecimalType) {
      return new HiveDecimalWritable(HiveDecimal.create(((Decimal) value).toJavaBigDecimal()));
    } else if (type instanceof DateType) {
      int day = ((Integer) value).intValue();
      // java.sql.Date accepts only years of four digits.
      return day > FIRST_GREGORIAN_DAY && day <= 2932896 // 9999-12-31
          ? Date.valueOf(LocalDate.ofEpochDay(day))
          : null;
    } else if (type instanceof StringType) {
      return ordered(((UTF8String) value).toString());
    } else if (type instanceof TimestampType) {
      // For times before 1970, writers differ in the direction in which they round fractions.
      long micros = ((Number) value).longValue();
      return micros >= FIRST_MICROS && micros < LAST_MICROS ? value : null;
    }
    return Long.valueOf(((Number) value).longValue());
  }

  /**
   * Returns a text if UTF-8 bytes and Java's characters give it the same sort order; otherwise
   * null. ORC computes the lowest and highest text by bytes, but compares them by characters.
   */
  private static String ordered(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (text.charAt(i) >= '\ud800') {
        return null;
      }
    }
    return text;
  }
}
