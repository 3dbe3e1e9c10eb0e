package acidsql.bridge;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.planning.PhysicalOperation;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.TableSpecBase;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.errors.QueryCompilationErrors;
import org.apache.spark.sql.execution.datasources.DataSourceStrategy$;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceCreationResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceReadInfo;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonFilterPushdownResult;
import org.apache.spark.sql.execution.datasources.v2.python.PythonScan;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.apache.spark.unsafe.Platform;
import scala.Option;
import scala.Tuple3;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * Rule of the optimiser that gives each query of {@code format("acidsql")} its own scan.
 *
 * <p>Spark stores the files and filters of a Python data source in the relation, and reuses them
 * for all queries of a frame or view. This rule replaces the scan by one with its own source, which
 * has the columns and conditions of this query. The rule also rejects CREATE TABLE with this
 * format, because Spark could not read the table.
 */
public final class SourceScans extends Rule {
  private static final String FORMAT = "acidsql";

  public SourceScans() {}

  public TreeNode apply(TreeNode plan) {
    if (plan instanceof V2CreateTablePlan) {
      refuse((LogicalPlan) plan);
    }
    return new QueryScans().planned((LogicalPlan) plan);
  }

  /** Rejects CREATE or REPLACE TABLE … USING acidsql. */
  private static void refuse(LogicalPlan command) {
    try {
      Method found = command.getClass().getMethod("tableSpec", new Class[0]);
      Object table = found.invoke(command, new Object[0]);
      Option provider = ((TableSpecBase) table).provider();
      if (provider.isDefined() && FORMAT.equalsIgnoreCase((String) provider.get())) {
        String name = ((V2CreateTablePlan) command).tableName().toString();
        throw QueryCompilationErrors.pythonDataSourceError("create", "table", advice(name));
      }
    } catch (Throwable error) {
      Platform.throwException(error);
    }
  }

  private static String advice(String name) {
    return "[UNSUPPORTED_FEATURE.CREATE_TABLE] Spark by itself cannot make " + name
        + " an ACID table: make it by acidsql.sql, or call acidsql.enable(spark) before";
  }
}

/** Scans of one query. */
final class QueryScans {
  private static final String FORMAT = "acidsql";

  /** Scans by leaf, columns and conditions. Equal parts of a plan stay equal and share files. */
  private final Map known = new HashMap();

  QueryScans() {}

  LogicalPlan planned(LogicalPlan given) {
    LogicalPlan plan = withSubqueries(given);
    boolean mayBeScan =
        plan instanceof DataSourceV2ScanRelation
            || plan instanceof Filter
            || plan instanceof Project;
    if (mayBeScan) {
      Option found = PhysicalOperation.unapply(plan);
      if (found.isDefined()) {
        Tuple3 parts = (Tuple3) found.get();
        LogicalPlan leaf = (LogicalPlan) parts._3();
        if (isShared(leaf)) {
          Seq projects = (Seq) parts._1();
          Seq filters = (Seq) parts._2();
          return above(plan, leaf, ownScan((DataSourceV2ScanRelation) leaf, projects, filters));
        }
      }
    }
    List children = list(plan.children());
    List replaced = new ArrayList();
    boolean changed = false;
    for (int i = 0; i < children.size(); i++) {
      LogicalPlan child = planned((LogicalPlan) children.get(i));
      changed = changed || child != children.get(i);
      replaced.add(child);
    }
    return changed ? (LogicalPlan) plan.withNewChildren(scala(replaced)) : plan;
  }

  /** Plans the subqueries of a node, for example those that prune partitions of another table. */
  private LogicalPlan withSubqueries(LogicalPlan plan) {
    List found = list(plan.expressions());
    Map pairs = new HashMap();
    for (int i = 0; i < found.size(); i++) {
      Expression expression = (Expression) found.get(i);
      found.addAll(list(expression.children()));
      if (expression instanceof PlanExpression) {
        QueryPlan subquery = (QueryPlan) ((PlanExpression) expression).plan();
        if (subquery instanceof LogicalPlan) {
          LogicalPlan own = planned((LogicalPlan) subquery);
          if (own != subquery) {
            pairs.put(expression, ((PlanExpression) expression).withNewPlan(own));
          }
        }
      }
    }
    return pairs.isEmpty()
        ? plan
        : (LogicalPlan) plan.transformExpressions(PythonUtils.toScalaMap(pairs));
  }

  /** Returns whether a node is a scan of this format that still uses the relation's source. */
  private static boolean isShared(LogicalPlan leaf) {
    if (!(leaf instanceof DataSourceV2ScanRelation)) {
      return false;
    }
    DataSourceV2ScanRelation scan = (DataSourceV2ScanRelation) leaf;
    return scan.scan().getClass() == PythonScan.class
        && scan.relation().table() instanceof PythonTable
        && FORMAT.equalsIgnoreCase(scan.relation().table().name());
  }

  /** Replaces the leaf below projections and filters. */
  private LogicalPlan above(LogicalPlan given, LogicalPlan leaf, LogicalPlan other) {
    if (given == leaf) {
      return other;
    }
    LogicalPlan plan = withSubqueries(given);
    List children = new ArrayList();
    children.add(above((LogicalPlan) plan.children().head(), leaf, other));
    return (LogicalPlan) plan.withNewChildren(scala(children));
  }

  private LogicalPlan ownScan(DataSourceV2ScanRelation shared, Seq projects, Seq conditions) {
    List output = required(shared, projects, conditions);
    List key = new ArrayList();
    key.add(Integer.valueOf(System.identityHashCode(shared)));
    key.add(output);
    key.add(list(conditions));
    if (!known.containsKey(key)) {
      known.put(key, ownScan(shared, output, filters(shared, conditions)));
    }
    return (LogicalPlan) known.get(key);
  }

  private static LogicalPlan ownScan(
      DataSourceV2ScanRelation shared,
      List output,
      org.apache.spark.sql.sources.Filter[] filters) {
    StructType schema = new StructType();
    StructType whole = shared.scan().readSchema();
    for (int i = 0; i < output.size(); i++) {
      String name = ((Attribute) output.get(i)).name();
      StructField field = whole.fields()[whole.fieldIndex(name)];
      schema = schema.add(field);
    }
    Map given = new HashMap(shared.relation().options().asCaseSensitiveMap());
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(given);
    String name = shared.relation().table().name();
    Object[] values = new Object[shared.productArity()];
    for (int i = 0; i < values.length; i++) {
      boolean isMergeable = "mergeableScan".equals(shared.productElementName(i)); // Spark 4.3
      values[i] = isMergeable ? Boolean.FALSE : shared.productElement(i);
    }
    values[1] = new QueryScan(new QuerySource(name, filters), name, schema, options, filters);
    values[2] = scala(output);
    return (LogicalPlan) shared.makeCopy(values);
  }

  /** Returns the columns that a query needs, or the smallest column if it only counts rows. */
  private static List required(DataSourceV2ScanRelation scan, Seq projects, Seq conditions) {
    Set ids = new HashSet();
    List used = list(projects);
    used.addAll(list(conditions));
    for (int i = 0; i < used.size(); i++) {
      List references = list(((Expression) used.get(i)).references().toSeq());
      for (int j = 0; j < references.size(); j++) {
        ids.add(((Attribute) references.get(j)).exprId());
      }
    }
    List all = list(scan.output());
    List found = new ArrayList();
    Object smallest = null;
    for (int i = 0; i < all.size(); i++) {
      Attribute attribute = (Attribute) all.get(i);
      if (ids.contains(attribute.exprId())) {
        found.add(attribute);
      }
      if (smallest == null
          || attribute.dataType().defaultSize()
              < ((Attribute) smallest).dataType().defaultSize()) {
        smallest = attribute;
      }
    }
    if (found.isEmpty() && smallest != null) {
      found.add(smallest);
    }
    return found;
  }

  /** Returns the conditions that sources understand. The plan still evaluates all conditions. */
  private static org.apache.spark.sql.sources.Filter[] filters(
      DataSourceV2ScanRelation scan, Seq conditions) {
    List found = new ArrayList();
    List own =
        list(
            DataSourceStrategy$.MODULE$.normalizeExprs(
                scala(list(conditions)), scala(list(scan.output()))));
    for (int i = 0; i < own.size(); i++) {
      Option filter = DataSourceStrategy$.MODULE$.translateFilter((Expression) own.get(i), false);
      if (filter.isDefined()) {
        found.add(filter.get());
      }
    }
    return (org.apache.spark.sql.sources.Filter[])
        found.toArray(new org.apache.spark.sql.sources.Filter[0]);
  }

  /** Returns the elements of a Scala sequence as a mutable Java list. */
  private static List list(Seq elements) {
    return new ArrayList((List) JavaConverters.seqAsJavaListConverter(elements).asJava());
  }

  private static scala.collection.immutable.List scala(List elements) {
    Seq found = (Seq) JavaConverters.asScalaBufferConverter(new ArrayList(elements)).asScala();
    return found.toList();
  }
}

/** Scan of one query. */
final class QueryScan extends PythonScan {
  QueryScan(
      PythonDataSourceV2 source,
      String name,
      StructType schema,
      CaseInsensitiveStringMap options,
      org.apache.spark.sql.sources.Filter[] filters) {
    super(source, name, schema, options, filters);
  }
}

/** Source of one query, which stores its files and filters. */
final class QuerySource extends PythonDataSourceV2 {
  /** Option of the reader that selects the read for one query: {@code rows} or {@code filtered}. */
  private static final String QUERY = "acidsql.query";

  private final org.apache.spark.sql.sources.Filter[] filters;
  private PythonDataSourceReadInfo planned;

  QuerySource(String name, org.apache.spark.sql.sources.Filter[] filters) {
    this.filters = filters;
    setShortName(name);
    source(); // of the planning session, which can differ from the session of the running thread
  }

  public synchronized PythonDataSourceReadInfo getOrCreateReadInfo(
      String name, CaseInsensitiveStringMap options, StructType schema, boolean isStreaming) {
    if (planned == null && filters.length > 0) {
      Option found =
          source().pushdownFiltersInPython(made(name, options, schema, "filtered"), schema, filters);
      if (found.isDefined()) {
        planned = ((PythonFilterPushdownResult) found.get()).readInfo();
      }
    }
    if (planned == null) {
      PythonDataSourceCreationResult whole = made(name, options, schema, "rows");
      planned = source().createReadInfoInPython(whole, schema, isStreaming);
    }
    return planned;
  }

  private PythonDataSourceCreationResult made(
      String name, CaseInsensitiveStringMap options, StructType schema, String query) {
    Map given = new HashMap(options.asCaseSensitiveMap());
    given.put(QUERY, query);
    return source()
        .createDataSourceInPython(
            name, new CaseInsensitiveStringMap(given), Option.apply(schema));
  }
}
