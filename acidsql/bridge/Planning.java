package acidsql.bridge;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.ObjectWritable;
import org.apache.spark.api.python.PythonUtils;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.analysis.RelationTimeTravel;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CaseWhen;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal$;
import org.apache.spark.sql.catalyst.expressions.NamedExpression$;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression;
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression$;
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Assignment;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.Project$;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.SharedInMemoryCache;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.JavaConverters;
import scala.collection.Seq;

/**
 * Steps of planning. Each is one call from Python, because one call for each node of a plan would
 * take longer than Spark's own work.
 *
 * <p>Janino, which also compiles Spark's generated code, compiles this text.
 */
public final class Planning {
  private static final long UNBOUNDED = 1L << 62; // bytes

  public Planning() {}

  /** Describes a plan and its subqueries. */
  public Outline outline(LogicalPlan plan, String option) throws Exception {
    return new Outline(plan, option);
  }

  /** Finds leaves that may name a table, in an unresolved plan and in its subqueries. */
  public References references(LogicalPlan plan, boolean withAliases) throws Exception {
    return new References(plan, withAliases);
  }

  /** Returns the names of the constructor arguments of a case class, separated by NUL. */
  public String fieldNames(Product node) {
    return String.join("\0", Trees.fields(node));
  }

  /**
   * Copies a node with new values for some fields; returns null if it lacks one of them. All change
   * at once, because a node may refuse a new value beside an old one.
   *
   * @param names names of the fields, separated by NUL
   */
  public TreeNode copied(TreeNode node, String names, List changes) {
    List fields = Trees.fields(node);
    Object[] values = new Object[fields.size()];
    for (int i = 0; i < values.length; i++) {
      values[i] = node.productElement(i);
    }
    String[] changed = names.split("\0");
    for (int i = 0; i < changed.length; i++) {
      int place = fields.indexOf(changed[i]);
      if (place < 0) {
        return null;
      }
      values[place] = changes.get(i);
    }
    return node.makeCopy(values);
  }

  /** Returns whether a name, whose parts NUL separates, is a temporary view. */
  public boolean isTempView(SessionCatalog catalog, String name) {
    return catalog.isTempView(Trees.scala(Arrays.asList(name.split("\0"))));
  }

  /** Returns the current catalog and the parts of its current namespace, separated by NUL. */
  public String currentNamespace(CatalogManager catalogs) {
    String[] namespace = catalogs.currentNamespace();
    StringBuilder text = new StringBuilder(catalogs.currentCatalog().name());
    for (int i = 0; i < namespace.length; i++) {
      text.append('\0').append(namespace[i]);
    }
    return text.toString();
  }

  /** Rebinds an expression from the attributes of one output to those of another, by position. */
  public Expression rebound(Expression expression, Seq output, Seq other) {
    return Trees.rebound(expression, output, other);
  }

  /**
   * Replaces placeholders in an analysed plan by plans, and retains the placeholders' attributes.
   *
   * @param option name of the option of a placeholder that identifies its plan
   * @param texts values of that option
   * @param plans an analysed plan for each value, with the columns of the placeholder
   */
  public LogicalPlan fill(LogicalPlan plan, String option, List texts, List plans) {
    Map replacements = new IdentityHashMap();
    List trees = Trees.withSubqueries(plan);
    for (int i = 0; i < trees.size(); i++) {
      List leaves = Trees.list(((LogicalPlan) trees.get(i)).collectLeaves());
      for (int j = 0; j < leaves.size(); j++) {
        LogicalPlan leaf = (LogicalPlan) leaves.get(j);
        HadoopFsRelation relation = Trees.files(leaf);
        Option value = relation == null ? null : relation.options().get(option);
        if (value != null && value.isDefined()) {
          int place = texts.indexOf(value.get());
          replacements.put(leaf, Trees.under(leaf.output(), (LogicalPlan) plans.get(place)));
        }
      }
    }
    return Trees.replaced(plan, replacements);
  }

  /**
   * Replaces nodes of an unresolved plan and of its subqueries. Nodes are found by identity, because
   * two references to one table are equal.
   */
  public LogicalPlan replaced(LogicalPlan plan, List nodes, List plans) {
    Map replacements = new IdentityHashMap();
    for (int i = 0; i < nodes.size(); i++) {
      replacements.put(nodes.get(i), plans.get(i));
    }
    return Trees.replaced(plan, replacements);
  }

  /**
   * Moves the WITH before a command into the command's subqueries and the source of a MERGE,
   * because a command cannot contain a recursive query itself.
   */
  public LogicalPlan withInside(LogicalPlan with) {
    LogicalPlan command = (LogicalPlan) with.children().head();
    Map moved = new HashMap();
    List subqueries = Trees.collect(command.expressions(), SubqueryExpression.class);
    for (int i = 0; i < subqueries.size(); i++) {
      SubqueryExpression subquery = (SubqueryExpression) subqueries.get(i);
      LogicalPlan query = (LogicalPlan) subquery.plan();
      moved.put(subquery, subquery.withNewPlan(Trees.over(with, query)));
    }
    LogicalPlan changed = (LogicalPlan) command.transformExpressions(Trees.scala(moved));
    if (changed instanceof MergeIntoTable) {
      List sides = Trees.list(changed.children());
      LogicalPlan source = (LogicalPlan) sides.get(1);
      if (source instanceof SubqueryAlias) {
        sides.set(1, Trees.over(source, Trees.over(with, (LogicalPlan) source.children().head())));
      } else {
        sides.set(1, Trees.over(with, source));
      }
      changed = (LogicalPlan) changed.withNewChildren(Trees.scala(sides));
    }
    return changed;
  }

  /** Returns the unresolved attributes in the values that a command assigns. */
  public Seq unresolvedValues(LogicalPlan command) {
    List assignments = Trees.collect(command.expressions(), Assignment.class);
    List found = new ArrayList();
    for (int i = 0; i < assignments.size(); i++) {
      Expression value = ((Assignment) assignments.get(i)).value();
      found.addAll(Trees.collect(Trees.seq(value), UnresolvedAttribute.class));
    }
    return Trees.scala(found);
  }

  /** Replaces attributes in the values that a command assigns by expressions. */
  public LogicalPlan withValues(LogicalPlan command, List attributes, List expressions) {
    Map values = new HashMap();
    for (int i = 0; i < attributes.size(); i++) {
      values.put(attributes.get(i), expressions.get(i));
    }
    List assignments = Trees.collect(command.expressions(), Assignment.class);
    Map changed = new HashMap();
    for (int i = 0; i < assignments.size(); i++) {
      Assignment assignment = (Assignment) assignments.get(i);
      Expression value = (Expression) assignment.value().transform(Trees.scala(values));
      changed.put(assignment, new Assignment(assignment.key(), value));
    }
    return (LogicalPlan) command.transformExpressions(Trees.scala(changed));
  }

  /** Finds the assignments that do not assign a column to itself. */
  public Assigned assigned(Seq assignments) throws Exception {
    return new Assigned(assignments);
  }

  /**
   * Projects a resolved plan to its first columns, with new names and metadata, and to other
   * columns by name.
   *
   * @param fields names and metadata for the first columns, a StructType
   * @param names names of later columns, separated by NUL
   */
  public LogicalPlan projected(LogicalPlan plan, DataType fields, String names) {
    List others = names.isEmpty() ? new ArrayList() : Arrays.asList(names.split("\0"));
    List output = Trees.list(plan.output());
    StructField[] described = ((StructType) fields).fields();
    List columns = new ArrayList();
    for (int i = 0; i < described.length; i++) {
      Attribute own = (Attribute) output.get(i);
      StructField field = described[i];
      boolean isAlike = own.name().equals(field.name()) && own.metadata().equals(field.metadata());
      columns.add(isAlike ? own : Trees.alias(own, field.name(), field.metadata()));
    }
    for (int i = 0; i < others.size(); i++) {
      for (int j = described.length; j < output.size(); j++) {
        Attribute own = (Attribute) output.get(j);
        if (own.name().equals(others.get(i))) {
          columns.add(Trees.alias(own, own.name(), Metadata.empty()));
        }
      }
    }
    if (columns.size() != described.length + others.size()) {
      throw new IllegalArgumentException(others + " expected among " + output);
    }
    return new Project(Trees.scala(columns), plan);
  }

  /**
   * Hides the last columns of a resolved plan.
   *
   * @param name parts of the table's name, separated by NUL
   * @param aliasShowsHidden whether an alias exposes the hidden columns below it
   */
  public LogicalPlan hideColumns(
      LogicalPlan plan, int hidden, String name, boolean aliasShowsHidden) {
    List parts = Arrays.asList(name.split("\0"));
    int last = parts.size() - 1;
    AliasIdentifier alias =
        new AliasIdentifier((String) parts.get(last), Trees.scala(parts.subList(0, last)));
    List output = Trees.list(plan.output());
    if (!aliasShowsHidden) {
      // Join hints refer to the alias, and column names refer to the qualifiers.
      for (int i = 0; i < output.size(); i++) {
        output.set(i, ((Attribute) output.get(i)).withQualifier(Trees.scala(parts)));
      }
      plan = new SubqueryAlias(alias, plan);
    }
    List shown = output.subList(0, output.size() - hidden);
    Project project = new Project(Trees.scala(shown), plan);
    // Spark looks up each column of the plan above in this list, so it has only hidden columns.
    List tagged = output.subList(output.size() - hidden, output.size());
    project.setTagValue(Project$.MODULE$.hiddenOutputTag(), Trees.scala(tagged));
    LogicalPlan named = aliasShowsHidden ? new SubqueryAlias(alias, project) : project;
    // The analyser skips the nodes below, instead of applying each rule to each column again.
    named.setAnalyzed();
    return named;
  }

  /**
   * Builds columns with the values of assignments, which are NULL in rows with another number.
   *
   * @param numbers name of the column that contains the number of each row
   * @param number number of the rows to which the assignments apply
   * @param names names of the columns; further assignments are ignored
   * @param haveNodes whether columns consist of nodes (from Spark 4 on)
   */
  public Seq chosen(Seq assignments, String numbers, int number, List names, boolean haveNodes)
      throws Exception {
    ColumnFactory factory = new ColumnFactory(haveNodes);
    Expression own = new UnresolvedAttribute(Trees.scala(Arrays.asList(numbers)));
    Expression isMeant = new EqualTo(own, Literal$.MODULE$.apply(Integer.valueOf(number)));
    List found = new ArrayList();
    for (int i = 0; i < names.size(); i++) {
      Tuple2 branch = new Tuple2(isMeant, ((Assignment) assignments.apply(i)).value());
      Expression value =
          new CaseWhen(Trees.scala(Collections.singletonList(branch)), Option.apply(null));
      found.add(factory.named(value, (String) names.get(i), Metadata.empty()));
    }
    return Trees.scala(found);
  }

  /**
   * Returns a relation over given files, without a directory listing.
   *
   * @param session Java session whose settings apply to the scan
   * @param root root path of all files, null if there are no files
   * @param statuses array of FileStatus, serialized by Hadoop's ObjectWritable
   * @param schema columns of the files
   * @param format name of the class of the file format
   */
  public HadoopFsRelation relation(
      Object session,
      String root,
      byte[] statuses,
      StructType schema,
      StructType partitions,
      String format,
      Map options)
      throws Exception {
    // Spark's shared cache may be disabled, or may evict a listing before the index reads it.
    FileStatusCache cache = new SharedInMemoryCache(UNBOUNDED, -1L).createForNewClient();
    List roots = new ArrayList();
    if (root != null) {
      DataInputStream data = new DataInputStream(new ByteArrayInputStream(statuses));
      Object read = ObjectWritable.readObject(data, new Configuration(false));
      Path path = new Path(root);
      roots.add(path);
      cache.putLeafFiles(path, (FileStatus[]) read);
    }
    // Include all cached files of a root, in any directory below it.
    Map recursive = Collections.singletonMap("recursiveFileLookup", "true");
    Option none = Option.apply(null);
    // By reflection, because the class of sessions differs between releases.
    Object index =
        InMemoryFileIndex.class.getConstructors()[0].newInstance(
            new Object[] {
              session,
              Trees.scala(roots),
              Trees.scala(recursive),
              Option.apply(schema),
              cache,
              none,
              none
            });
    Class reader = index.getClass().getClassLoader().loadClass(format);
    return (HadoopFsRelation)
        HadoopFsRelation.class.getConstructors()[0].newInstance(
            new Object[] {
              index,
              partitions,
              schema,
              none,
              reader.getConstructor(new Class[0]).newInstance(new Object[0]),
              Trees.scala(options),
              session
            });
  }
}

/**
 * Description of a plan as JSON. It contains the nodes, parents first, with null for an expression,
 * and the numbers of the roots of the plan and of its subqueries.
 */
public final class Outline {
  private final List nodes = new ArrayList();
  private final List described = new ArrayList();
  private final String option;
  private final String text;

  /** @param option name of the option whose value is read from each relation over files */
  public Outline(LogicalPlan plan, String option) throws Exception {
    this.option = option;
    List trees = Trees.withSubqueries(plan);
    List roots = new ArrayList();
    for (int i = 0; i < trees.size(); i++) {
      roots.add(Integer.valueOf(describe((LogicalPlan) trees.get(i))));
    }
    Map whole = new HashMap();
    whole.put("roots", roots);
    whole.put("nodes", described);
    text = Trees.JSON.writeValueAsString(whole);
  }

  public String text() {
    return text;
  }

  /** Returns a described node or expression by its number. */
  public Object node(int number) {
    return nodes.get(number);
  }

  private Integer numbered(Object node, Map description) {
    nodes.add(node);
    described.add(description);
    return Integer.valueOf(nodes.size() - 1);
  }

  private int describe(LogicalPlan plan) {
    Map description = new LinkedHashMap();
    Integer number = numbered(plan, description);
    description.put("kind", plan.getClass().getSimpleName());
    description.put("deterministic", Boolean.valueOf(plan.deterministic()));
    List children = Trees.list(plan.children());
    List numbers = new ArrayList();
    for (int i = 0; i < children.size(); i++) {
      numbers.add(Integer.valueOf(describe((LogicalPlan) children.get(i))));
    }
    description.put("children", numbers);
    HadoopFsRelation relation = Trees.files(plan);
    if (relation != null) {
      Option value = relation.options().get(option);
      description.put("option", value.isDefined() ? value.get() : null);
      List ids = new ArrayList();
      List columns = Trees.list(plan.output());
      for (int i = 0; i < columns.size(); i++) {
        ids.add(Long.valueOf(((Attribute) columns.get(i)).exprId().id()));
      }
      description.put("columns", ids);
      description.put("partitions", Arrays.asList(relation.partitionSchema().fieldNames()));
    }
    if (plan instanceof Aggregate) {
      description.put("fractions", Boolean.valueOf(hasFractions(plan)));
    }
    if (isAboveFiles(plan)) {
      describeReferences(plan, description);
      if (plan instanceof Filter) {
        describeConjuncts((Filter) plan, description);
      } else if (plan instanceof Project) {
        description.put("empty", Boolean.valueOf(((Project) plan).projectList().isEmpty()));
      } else {
        describeFunctions((Aggregate) plan, description);
      }
    }
    return number.intValue();
  }

  /**
   * Returns whether a node is a filter, projection or aggregate that has only filters and
   * projections between it and a relation over files.
   */
  private static boolean isAboveFiles(LogicalPlan plan) {
    if (!(plan instanceof Filter || plan instanceof Project || plan instanceof Aggregate)) {
      return false;
    }
    LogicalPlan below = (LogicalPlan) plan.children().head();
    while (below instanceof Filter || below instanceof Project) {
      below = (LogicalPlan) below.children().head();
    }
    return Trees.files(below) != null;
  }

  private static boolean hasFractions(LogicalPlan plan) {
    List output = Trees.list(plan.output());
    for (int i = 0; i < output.size(); i++) {
      DataType type = ((Attribute) output.get(i)).dataType();
      if (type instanceof FloatType || type instanceof DoubleType) {
        return true;
      }
    }
    return false;
  }

  private static void describeReferences(LogicalPlan plan, Map description) {
    List names = new ArrayList();
    List attributes = Trees.list(plan.references().toSeq());
    for (int i = 0; i < attributes.size(); i++) {
      Attribute attribute = (Attribute) attributes.get(i);
      Long id = Long.valueOf(attribute.exprId().id());
      names.add(Arrays.asList(new Object[] {id, attribute.name()}));
    }
    description.put("references", names);
  }

  /** Describes the conjuncts of a filter directly above a relation over files. */
  private void describeConjuncts(Filter filter, Map description) {
    if (Trees.files(filter.child()) == null) {
      return;
    }
    List parts = new ArrayList();
    split(filter.condition(), parts);
    List conjuncts = new ArrayList();
    for (int i = 0; i < parts.size(); i++) {
      Expression part = (Expression) parts.get(i);
      Map conjunct = new LinkedHashMap();
      conjunct.put("kind", part.getClass().getSimpleName());
      conjunct.put("condition", numbered(part, null));
      Seq output = filter.child().output();
      // The name of an attribute has the case of the statement's text, not of the column.
      Expression own = Trees.rebound(part, output, output);
      conjunct.put("expression", numbered(own, null));
      conjunct.put("deterministic", Boolean.valueOf(own.deterministic()));
      conjunct.put("subquery", Boolean.valueOf(SubqueryExpression$.MODULE$.hasSubquery(own)));
      Map columns = new LinkedHashMap();
      List named = Trees.list(own.references().toSeq());
      for (int j = 0; j < named.size(); j++) {
        Attribute column = (Attribute) named.get(j);
        columns.put(column.name(), column.dataType().sql());
      }
      conjunct.put("columns", columns);
      conjuncts.add(conjunct);
    }
    description.put("conjuncts", conjuncts);
  }

  private static void split(Expression condition, List parts) {
    if (condition instanceof And) {
      split(((And) condition).left(), parts);
      split(((And) condition).right(), parts);
    } else {
      parts.add(condition);
    }
  }

  private static void describeFunctions(Aggregate aggregate, Map description) {
    List functions = new ArrayList();
    List values = Trees.list(aggregate.aggregateExpressions());
    for (int i = 0; i < values.size(); i++) {
      collect((Expression) values.get(i), functions);
    }
    description.put("functions", functions);
  }

  private static void collect(Expression expression, List functions) {
    if (expression instanceof AggregateExpression) {
      AggregateExpression found = (AggregateExpression) expression;
      Map function = new LinkedHashMap();
      function.put("name", found.aggregateFunction().getClass().getSimpleName());
      function.put("distinct", Boolean.valueOf(found.isDistinct()));
      functions.add(function);
      return;
    }
    List children = Trees.list(expression.children());
    for (int i = 0; i < children.size(); i++) {
      collect((Expression) children.get(i), functions);
    }
  }
}

/** References of an unresolved plan, as JSON. */
public final class References {
  private final List nodes = new ArrayList();
  private final List found = new ArrayList();
  private final boolean withAliases;
  private final String text;

  /** @param withAliases whether a reference includes an alias directly over it */
  public References(LogicalPlan plan, boolean withAliases) throws Exception {
    this.withAliases = withAliases;
    List trees = Trees.withSubqueries(plan);
    for (int i = 0; i < trees.size(); i++) {
      find((LogicalPlan) trees.get(i));
    }
    text = Trees.JSON.writeValueAsString(found);
  }

  public String text() {
    return text;
  }

  /** Returns the node of a reference by its number: the leaf, or the alias over it. */
  public LogicalPlan node(int number) {
    return (LogicalPlan) nodes.get(number);
  }

  private void find(LogicalPlan plan) throws Exception {
    if (plan.children().isEmpty()) {
      describe(plan, plan, null);
      return;
    }
    if (withAliases && plan instanceof SubqueryAlias) {
      SubqueryAlias alias = (SubqueryAlias) plan;
      if (alias.child().children().isEmpty()) {
        describe(alias.child(), alias, alias.alias());
        return;
      }
    }
    List children = Trees.list(plan.children());
    for (int i = 0; i < children.size(); i++) {
      find((LogicalPlan) children.get(i));
    }
  }

  private void describe(LogicalPlan leaf, LogicalPlan node, String alias) throws Exception {
    String kind = leaf.getClass().getSimpleName();
    LogicalPlan relation = leaf;
    if (kind.equals("RelationTimeTravel")) {
      relation = ((RelationTimeTravel) leaf).relation();
    } else if (kind.equals("RelationChanges")) { // from Spark 4.3 on
      Method found = leaf.getClass().getMethod("relation", new Class[0]);
      relation = (LogicalPlan) found.invoke(leaf, new Object[0]);
    }
    Map description = new LinkedHashMap();
    description.put("kind", kind);
    description.put("alias", alias);
    if (relation instanceof UnresolvedRelation) {
      UnresolvedRelation named = (UnresolvedRelation) relation;
      description.put("parts", Trees.list(named.multipartIdentifier()));
      Option start = named.origin().startIndex();
      description.put("start", start.isDefined() ? start.get() : null);
      description.put("options", new LinkedHashMap(named.options()));
    } else if (!kind.equals("UnresolvedTableValuedFunction")) {
      return;
    }
    nodes.add(node);
    found.add(description);
  }
}

/** Assignments of an UPDATE that change their column. */
public final class Assigned {
  private final List positions = new ArrayList();
  private boolean hasSubquery = false;

  public Assigned(Seq assignments) throws Exception {
    List all = Trees.list(assignments);
    for (int i = 0; i < all.size(); i++) {
      Assignment assignment = (Assignment) all.get(i);
      if (!assignment.value().semanticEquals(assignment.key())) {
        positions.add(Integer.valueOf(i));
        hasSubquery |= SubqueryExpression$.MODULE$.hasSubquery(assignment.value());
      }
    }
  }

  /** Returns the positions of the assignments as a JSON list. */
  public String text() throws Exception {
    return Trees.JSON.writeValueAsString(positions);
  }

  public boolean hasSubquery() {
    return hasSubquery;
  }
}

/** Factory of the contents of columns: nodes from Spark 4 on, expressions before. */
final class ColumnFactory {
  private final Method content;
  private Object utils = null;
  private Method made = null;

  ColumnFactory(boolean haveNodes) throws Exception {
    // By reflection, because each release has only one of the two methods.
    content = Column.class.getMethod(haveNodes ? "node" : "named", new Class[0]);
    if (haveNodes) {
      String name = "org.apache.spark.sql.classic.ExpressionUtils$";
      utils = Column.class.getClassLoader().loadClass(name).getField("MODULE$").get(null);
      made = utils.getClass().getMethod("column", new Class[] {Expression.class});
    }
  }

  /** Returns the node or expression of a column with an alias. */
  Object named(Expression value, String name, Metadata metadata) throws Exception {
    Object[] values = new Object[] {value};
    Object column =
        made == null
            ? Column.class.getConstructor(new Class[] {Expression.class}).newInstance(values)
            : made.invoke(utils, values);
    return content.invoke(((Column) column).as(name, metadata), new Object[0]);
  }
}

/** Access to Scala's collections and Catalyst's trees. */
final class Trees {
  /** Has caches. Several threads can use it. */
  static final ObjectMapper JSON = new ObjectMapper();

  private Trees() {}

  /** Returns the elements of a Scala sequence as a mutable Java list. */
  static List list(Seq elements) {
    List found = (List) JavaConverters.seqAsJavaListConverter(elements).asJava();
    return new ArrayList(found);
  }

  /** Returns a plan and the plans of all its subqueries. */
  static List withSubqueries(LogicalPlan plan) {
    List found = list(plan.subqueriesAll());
    found.add(0, plan);
    return found;
  }

  /**
   * Returns the names of the constructor arguments of a case class. They are its first final
   * fields; Scala 2.12 provides no other way to find them.
   */
  static List fields(Product node) {
    List names = new ArrayList();
    Field[] fields = node.getClass().getDeclaredFields();
    for (int i = 0; i < fields.length && names.size() < node.productArity(); i++) {
      int modifiers = fields[i].getModifiers();
      if (Modifier.isFinal(modifiers) && !Modifier.isStatic(modifiers)) {
        names.add(fields[i].getName());
      }
    }
    return names;
  }

  static scala.collection.immutable.Map scala(Map entries) {
    return PythonUtils.toScalaMap(entries);
  }

  static scala.collection.immutable.List scala(List elements) {
    Seq found = (Seq) JavaConverters.asScalaBufferConverter(new ArrayList(elements)).asScala();
    return found.toList();
  }

  static Seq seq(Object element) {
    return scala(Collections.singletonList(element));
  }

  /** Returns a node with another child. */
  static LogicalPlan over(LogicalPlan node, LogicalPlan child) {
    return (LogicalPlan) node.withNewChildren(scala(Collections.singletonList(child)));
  }

  /** Replaces nodes of a plan and of its subqueries by a map that compares identities. */
  static LogicalPlan replaced(LogicalPlan node, Map replacements) {
    if (replacements.containsKey(node)) {
      return (LogicalPlan) replacements.get(node);
    }
    boolean isChanged = false;
    List children = list(node.children());
    for (int i = 0; i < children.size(); i++) {
      LogicalPlan child = (LogicalPlan) children.get(i);
      LogicalPlan other = replaced(child, replacements);
      isChanged |= other != child;
      children.set(i, other);
    }
    Map changed = new HashMap();
    List subqueries = collect(node.expressions(), SubqueryExpression.class);
    for (int i = 0; i < subqueries.size(); i++) {
      SubqueryExpression subquery = (SubqueryExpression) subqueries.get(i);
      LogicalPlan query = (LogicalPlan) subquery.plan();
      LogicalPlan other = replaced(query, replacements);
      if (other != query) {
        changed.put(subquery, subquery.withNewPlan(other));
      }
    }
    LogicalPlan copy = isChanged ? (LogicalPlan) node.withNewChildren(scala(children)) : node;
    return changed.isEmpty() ? copy : (LogicalPlan) copy.transformExpressions(scala(changed));
  }

  /** Returns the expressions of a kind in a sequence of expressions, also inside each other. */
  static List collect(Seq expressions, Class kind) {
    List found = new ArrayList();
    List own = list(expressions);
    for (int i = 0; i < own.size(); i++) {
      Expression expression = (Expression) own.get(i);
      if (kind.isInstance(expression)) {
        found.add(expression);
      }
      found.addAll(collect(expression.children(), kind));
    }
    return found;
  }

  /** Returns an expression under a name and a new expression id. */
  static Alias alias(Expression value, String name, Metadata metadata) {
    return new Alias(
        value,
        name,
        NamedExpression$.MODULE$.newExprId(),
        scala(new ArrayList()),
        Option.apply(metadata),
        scala(new ArrayList()));
  }

  /** Returns a plan under other attributes, which replace its own attributes by position. */
  static LogicalPlan under(Seq attributes, LogicalPlan plan) {
    List columns = new ArrayList();
    List own = list(plan.output());
    List other = list(attributes);
    if (own.size() != other.size()) {
      throw new IllegalArgumentException(other.size() + " columns expected: " + own);
    }
    for (int i = 0; i < own.size(); i++) {
      Attribute attribute = (Attribute) other.get(i);
      columns.add(
          new Alias(
              (Expression) own.get(i),
              attribute.name(),
              attribute.exprId(),
              attribute.qualifier(),
              Option.apply(attribute.metadata()),
              scala(new ArrayList())));
    }
    return new Project(scala(columns), plan);
  }

  /** Returns the relation of a node that is a relation over files, or null. */
  static HadoopFsRelation files(QueryPlan plan) {
    if (!(plan instanceof LogicalRelation)) {
      return null;
    }
    Object relation = ((LogicalRelation) plan).relation();
    return relation instanceof HadoopFsRelation ? (HadoopFsRelation) relation : null;
  }

  /**
   * Rebinds an expression from the attributes of one output to those of another, by position. An
   * attribute can occur in several forms, which differ in case, qualifier or nullability.
   */
  static Expression rebound(Expression expression, Seq output, Seq other) {
    Map places = new HashMap();
    // The other output can be shorter if the expression does not use the last columns.
    for (int i = 0; i < output.size() && i < other.size(); i++) {
      places.put(((Attribute) output.apply(i)).exprId(), other.apply(i));
    }
    Map pairs = new HashMap();
    find(expression, places, pairs);
    if (pairs.isEmpty()) {
      return expression;
    }
    return (Expression) expression.transform(scala(pairs));
  }

  private static void find(Expression expression, Map places, Map pairs) {
    if (expression instanceof Attribute && places.containsKey(((Attribute) expression).exprId())) {
      pairs.put(expression, places.get(((Attribute) expression).exprId()));
    }
    List children = list(expression.children());
    for (int i = 0; i < children.size(); i++) {
      find((Expression) children.get(i), places, pairs);
    }
  }
}
