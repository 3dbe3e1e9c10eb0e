package acidsql.bridge;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkException;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.catalyst.analysis.AnalysisContext$;
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan$;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTableAsSelectPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.connect.service.SessionHolder;
import org.apache.spark.sql.connect.service.SparkConnectService$;
import org.apache.spark.sql.connect.service.SparkConnectSessionManager;
import org.apache.spark.sql.execution.datasources.CreateTable;
import scala.Function1;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark Connect's server with extensions of acidsql: it runs the statements of clients, resolves
 * the tables that they name, and handles the end of a client's session.
 *
 * <p>Compiled by Janino, like ClientStatements. connect.Place is replaced by the positions in a
 * text that an error of this release of Spark takes.
 */
public final class ConnectServer extends ClientStatements {
  final ClientSessions sessions;
  final SparkContext context;

  public ConnectServer(Asked asked, SparkContext context) {
    super(asked);
    this.context = context;
    this.sessions = new ClientSessions(asked, new SparkSessionOf());
  }

  public ClientParser parser(Object session, ParserInterface spark) {
    return new Parser(this, session, spark);
  }

  /**
   * Returns the factory of the rules of new sessions, for injectHintResolutionRule and
   * injectResolutionRule.
   */
  public Function1 rules() {
    return new Rules(this);
  }

  /** Starts the server like Spark, with settings that take precedence; returns when it listens. */
  public void start(Map settings) throws Exception {
    for (Iterator i = settings.entrySet().iterator(); i.hasNext(); ) {
      Map.Entry setting = (Map.Entry) i.next();
      context.conf().set((String) setting.getKey(), (String) setting.getValue());
    }
    SparkConnectSessionManager manager = SparkConnectService$.MODULE$.sessionManager();
    Reflected.set(manager, SparkConnectSessionManager.class, "sessionStore", sessions);
    SparkConnectService$.MODULE$.start(context);
  }

  /** Returns the port on which the server listens. */
  public int port() {
    return SparkConnectService$.MODULE$.localPort();
  }

  /** Ends the server and the sessions of its clients. */
  public void stop() {
    SparkConnectService$.MODULE$.stop(Option.empty(), Option.empty());
    sessions.clear();
    isRunning = false;
  }
}

/** Returns the Spark session of the object that the server keeps for a client. */
final class SparkSessionOf implements Function {
  public Object apply(Object holder) {
    return ((SessionHolder) holder).session();
  }
}

/** Parser of a session. Texts that Spark Connect's planner parses come from the client. */
final class Parser extends ClientParser {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String PLANNER = "org.apache.spark.sql.connect.planner.SparkConnectPlanner";
  private final ConnectServer server;

  Parser(ConnectServer server, Object session, ParserInterface spark) {
    super(server, session, spark);
    this.server = server;
  }

  /**
   * Returns "run" for the statement of a request that runs a statement. Returns "query" for a text
   * within a DataFrame, which is parsed again whenever the client inspects it. Returns null for the
   * text of a view and for other texts that Spark's analysis parses.
   */
  protected String question(String text) {
    if (!server.sessions.isOfClient(session)) {
      return null;
    }
    StackTraceElement[] calls = new Throwable().getStackTrace();
    boolean isOfClient = false;
    for (int i = 0; i < calls.length; i++) {
      String name = calls[i].getClassName();
      if (name.startsWith("org.apache.spark.sql.catalyst.analysis.") && !isOfClient) {
        return null;
      }
      if (name.startsWith(PLANNER)) {
        String method = calls[i].getMethodName();
        if (method.indexOf("transformSql") >= 0) {
          return "query";
        }
        if (method.indexOf("handleSqlCommand") >= 0) {
          // One of the tags is unique to the request.
          String tags = server.context.getLocalProperty("spark.job.tags");
          return tags != null && isFirstOf(tags) ? "run" : null;
        }
        isOfClient = true;
      }
    }
    return null;
  }

  /** Returns the text and the values of its parameters as JSON. Each value is SQL. */
  protected String described(String text, Object parameters) {
    Map described = new HashMap();
    described.put("text", text);
    try {
      if (parameters != null) {
        described.put("values", values(parameters));
      }
      return JSON.writeValueAsString(described);
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  /** Returns a map of named values, or a list of positional values. */
  private static Object values(Object parameters) throws Exception {
    Object given =
        parameters.getClass().getMethod("params", new Class[0]).invoke(parameters, new Object[0]);
    if (given instanceof scala.collection.Map) {
      Map named = new HashMap();
      Map found = CollectionConverters.asJava((scala.collection.Map) given);
      for (Iterator i = found.entrySet().iterator(); i.hasNext(); ) {
        Map.Entry entry = (Map.Entry) i.next();
        named.put(entry.getKey(), ((Expression) entry.getValue()).sql());
      }
      return named;
    }
    List ordered = new ArrayList();
    Iterator i = CollectionConverters.asJava((scala.collection.Iterable) given).iterator();
    while (i.hasNext()) {
      ordered.add(((Expression) i.next()).sql());
    }
    return ordered;
  }
}

/** Factory of the rules of new sessions. */
final class Rules extends scala.runtime.AbstractFunction1 {
  private final ConnectServer server;

  Rules(ConnectServer server) {
    this.server = server;
  }

  public Object apply(Object session) {
    return new Tables(server, session);
  }
}

/** Rule that resolves the names of acidsql's tables and views in a DataFrame's plan. */
final class Tables extends Rule {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final ConnectServer server;
  private final Object session;

  Tables(ConnectServer server, Object session) {
    this.server = server;
    this.session = session;
  }

  public TreeNode apply(TreeNode node) {
    LogicalPlan plan = (LogicalPlan) node;
    if (ClientParser.isAtWork()
        || !server.isRunning
        || !server.sessions.isOfClient(session)
        // The names in a view refer to the view's database.
        || AnalysisContext$.MODULE$.get().catalogAndNamespace().nonEmpty()) {
      return plan;
    }
    List written = Written.name(plan);
    if (written != null) {
      ClientParser.atWork(server, "written", session, json(written)); // throws for our tables
    }
    List named = new ArrayList(CollectionConverters.asJava(plan.collect(new Named())));
    if (named.isEmpty()) {
      return plan;
    }
    List described = new ArrayList();
    for (int i = 0; i < named.size(); i++) {
      UnresolvedRelation relation = (UnresolvedRelation) named.get(i);
      Map one = new HashMap();
      one.put("name", CollectionConverters.asJava(relation.multipartIdentifier()));
      one.put("options", new HashMap(relation.options())); // with names in lower case
      described.add(one);
    }
    List plans = (List) ClientParser.atWork(server, "tables", session, json(described));
    Map found = new IdentityHashMap();
    for (int i = 0; plans != null && i < named.size(); i++) {
      if (plans.get(i) != null) {
        found.put(named.get(i), plans.get(i));
      }
    }
    return found.isEmpty() ? plan : plan.resolveOperatorsUp(new Found(found));
  }

  private static String json(Object described) {
    try {
      return JSON.writeValueAsString(described);
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }
}

/** The table to which a client writes a DataFrame, which is not a child of the plan. */
final class Written {
  /** Returns the parts of the table's name; null if the plan does not write to a named table. */
  static List name(LogicalPlan plan) {
    if (plan instanceof CreateTable) {
      return parts(((CreateTable) plan).tableDesc().identifier().nameParts());
    }
    if (plan instanceof InsertIntoStatement) {
      return target(((InsertIntoStatement) plan).table());
    }
    if (plan instanceof V2WriteCommand) {
      return target(((V2WriteCommand) plan).table());
    }
    return plan instanceof V2CreateTableAsSelectPlan
        ? target(((V2CreateTableAsSelectPlan) plan).name())
        : null;
  }

  private static List target(Object named) {
    if (named instanceof UnresolvedRelation) {
      return parts(((UnresolvedRelation) named).multipartIdentifier());
    }
    return named instanceof UnresolvedIdentifier
        ? parts(((UnresolvedIdentifier) named).nameParts())
        : null;
  }

  private static List parts(scala.collection.Seq name) {
    return new ArrayList(CollectionConverters.asJava(name));
  }
}

/** Matches the relations in a plan that Spark has not resolved. */
final class Named extends scala.runtime.AbstractPartialFunction {
  public boolean isDefinedAt(Object plan) {
    return plan instanceof UnresolvedRelation && !((UnresolvedRelation) plan).isStreaming();
  }

  public Object applyOrElse(Object plan, Function1 otherwise) {
    return isDefinedAt(plan) ? plan : otherwise.apply(plan);
  }
}

/** Replaces relations by plans. */
final class Found extends scala.runtime.AbstractPartialFunction {
  /** Tag by which a client's df.id or df["id"] finds the plan of df. */
  private static final TreeNodeTag PLAN_ID = LogicalPlan$.MODULE$.PLAN_ID_TAG();
  private final Map plans;

  Found(Map plans) {
    this.plans = plans;
  }

  public boolean isDefinedAt(Object plan) {
    return plans.containsKey(plan);
  }

  public Object applyOrElse(Object plan, Function1 otherwise) {
    if (!isDefinedAt(plan)) {
      return otherwise.apply(plan);
    }
    LogicalPlan found = (LogicalPlan) plans.get(plan);
    // Spark copies tags only to a plan without tags.
    Option id = ((LogicalPlan) plan).getTagValue(PLAN_ID);
    if (id.nonEmpty()) {
      found.setTagValue(PLAN_ID, id.get());
    }
    return found;
  }
}

/** Error of an invalid statement. Clients get an AnalysisException. */
final class AnalysisError extends AnalysisException {
  // What clients see of an error.

  public AnalysisError(String message, String condition, String sqlState, Map parameters) {
    super(
        message,
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.apply(condition),
        scala.collection.immutable.Map$.MODULE$.empty(),
        new QueryContext[0]);
    setError(message, condition, sqlState, parameters);
  }
}

/** Error of a text that is not a statement. Clients get a ParseException. */
final class ParseError extends ParseException {
  // What clients see of an error.

  public ParseError(String message, String condition, String sqlState, Map parameters) {
    // Spark builds a message from these arguments. The class has no other constructor.
    super(Option.empty(), connect.Place, "PARSE_SYNTAX_ERROR", texts());
    setError(message, condition, sqlState, parameters);
  }

  private static scala.collection.immutable.Map texts() {
    scala.collection.immutable.Map none = scala.collection.immutable.Map$.MODULE$.empty();
    Object some = none.updated("error", "").updated("hint", "");
    return (scala.collection.immutable.Map) some;
  }
}

/** Any other error of a statement. Clients get a SparkException. */
final class ExecutionError extends SparkException {
  // What clients see of an error.

  public ExecutionError(String message, String condition, String sqlState, Map parameters) {
    super(
        message,
        null,
        Option.apply(condition),
        scala.collection.immutable.Map$.MODULE$.empty(),
        new QueryContext[0]);
    setError(message, condition, sqlState, parameters);
  }
}
