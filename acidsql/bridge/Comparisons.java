package acidsql.bridge;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import scala.Option;
import scala.Product;

/**
 * Finds comparisons of columns with constants among conditions, in one call from Python.
 *
 * <p>Janino, which Spark compiles its generated code with, compiles this text.
 */
public final class Comparisons {
  private static final long DAY = 86400000L; // milliseconds
  private static final Map OPERATORS = new HashMap();

  static {
    // Names of Spark's filters (org.apache.spark.sql.sources), which are case classes.
    OPERATORS.put("EqualTo", "=");
    OPERATORS.put("In", "=");
    OPERATORS.put("LessThan", "<");
    OPERATORS.put("LessThanOrEqual", "<=");
    OPERATORS.put("GreaterThan", ">");
    OPERATORS.put("GreaterThanOrEqual", ">=");
  }

  public Comparisons() {}

  /**
   * Returns the comparisons among conditions as a JSON array. Each is an array of the column's
   * name, the operator, and the constants. A constant is a number, a text, or {"date": text}.
   */
  public String among(List conditions) throws Exception {
    List comparisons = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      Option filter = DataSourceStrategy$.MODULE$.translateFilter(condition, false);
      List comparison = filter.isDefined() ? comparison((Product) filter.get()) : null;
      if (comparison != null) {
        comparisons.add(comparison);
      }
    }
    return new ObjectMapper().writeValueAsString(comparisons);
  }

  /** Returns a comparison, or null if a filter is none, or has a constant of another type. */
  private static List comparison(Product filter) {
    Object operator = OPERATORS.get(filter.productPrefix());
    if (operator == null) {
      return null;
    }
    Object compared = filter.productElement(1);
    Object[] values =
        compared instanceof Object[] ? (Object[]) compared : new Object[] {compared};
    List constants = new ArrayList();
    for (int i = 0; i < values.length; i++) {
      if (values[i] != null) { // NULL equals nothing
        Object constant = constant(values[i]);
        if (constant == null) {
          return null;
        }
        constants.add(constant);
      }
    }
    return Arrays.asList(new Object[] {filter.productElement(0), operator, constants});
  }

  private static Object constant(Object value) {
    if (value instanceof java.sql.Date || value instanceof LocalDate) {
      return hasUsualText(value) ? Collections.singletonMap("date", value.toString()) : null;
    }
    boolean isWhole =
        value instanceof Byte
            || value instanceof Short
            || value instanceof Integer
            || value instanceof Long;
    return isWhole || value instanceof String ? value : null;
  }

  /**
   * Returns whether the text of a date has four digits for the year and is the same in all
   * calendars. The text of a java.sql.Date lacks the sign and further digits of the year, and
   * differs from that of the same day in Spark around October 1582.
   */
  private static boolean hasUsualText(Object date) {
    LocalDate day =
        date instanceof LocalDate
            ? (LocalDate) date
            : LocalDate.ofEpochDay(Math.floorDiv(((java.sql.Date) date).getTime(), DAY));
    return day.getYear() > 1583 && day.getYear() < 9999;
  }
}
