package acidsql.bridge;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.sources.GreaterThan;
import org.apache.spark.sql.sources.GreaterThanOrEqual;
import org.apache.spark.sql.sources.In;
import org.apache.spark.sql.sources.LessThan;
import org.apache.spark.sql.sources.LessThanOrEqual;

/**
 * Finds comparisons of columns with constants among conditions, in one call from Python.
 *
 * <p>Janino, which Spark compiles its generated code with, compiles this text.
 */
public final class Comparisons {
  public Comparisons() {}

  /**
   * Returns the comparisons among conditions as a JSON array. Each is an array of the column's
   * name, the operator, and the constants. A constant is a number, a text, or {"date": text}.
   */
  public String among(List conditions) throws Exception {
    List comparisons = new ArrayList();
    for (int i = 0; i < conditions.size(); i++) {
      Expression condition = (Expression) conditions.get(i);
      scala.Option filter = DataSourceStrategy$.MODULE$.translateFilter(condition, false);
      List comparison = filter.isDefined() ? comparison(filter.get()) : null;
      if (comparison != null) {
        comparisons.add(comparison);
      }
    }
    return new ObjectMapper().writeValueAsString(comparisons);
  }

  private static List comparison(Object filter) {
    if (filter instanceof EqualTo) {
      EqualTo equal = (EqualTo) filter;
      return comparison(equal.attribute(), "=", new Object[] {equal.value()});
    }
    if (filter instanceof In) {
      In in = (In) filter;
      return comparison(in.attribute(), "=", in.values());
    }
    if (filter instanceof LessThan) {
      LessThan less = (LessThan) filter;
      return comparison(less.attribute(), "<", new Object[] {less.value()});
    }
    if (filter instanceof LessThanOrEqual) {
      LessThanOrEqual less = (LessThanOrEqual) filter;
      return comparison(less.attribute(), "<=", new Object[] {less.value()});
    }
    if (filter instanceof GreaterThan) {
      GreaterThan greater = (GreaterThan) filter;
      return comparison(greater.attribute(), ">", new Object[] {greater.value()});
    }
    if (filter instanceof GreaterThanOrEqual) {
      GreaterThanOrEqual greater = (GreaterThanOrEqual) filter;
      return comparison(greater.attribute(), ">=", new Object[] {greater.value()});
    }
    return null;
  }

  /** Returns a comparison, or null if one of the constants is of another type than those above. */
  private static List comparison(String column, String operator, Object[] values) {
    List constants = new ArrayList();
    for (int i = 0; i < values.length; i++) {
      Object value = values[i];
      if (value == null) {
        continue; // NULL equals nothing
      }
      if (value instanceof java.sql.Date || value instanceof LocalDate) {
        constants.add(Collections.singletonMap("date", value.toString()));
      } else if (value instanceof String || isWhole(value)) {
        constants.add(value);
      } else {
        return null;
      }
    }
    return Arrays.asList(new Object[] {column, operator, constants});
  }

  private static boolean isWhole(Object value) {
    return value instanceof Byte
        || value instanceof Short
        || value instanceof Integer
        || value instanceof Long;
  }
}
