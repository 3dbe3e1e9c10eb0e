package acidsql.bridge;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collection;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.operation.GetColumnsOperation;
import org.apache.hive.service.cli.operation.GetSchemasOperation;
import org.apache.hive.service.cli.operation.MetadataOperation;
import org.apache.hive.service.cli.operation.OperationManager;
import org.apache.hive.service.cli.session.HiveSession;
import org.apache.hive.service.cli.session.SessionManager;
import org.apache.hive.service.cli.thrift.ThriftCLIService;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.SQLContext;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.hive.HiveUtils$;
import org.apache.spark.sql.hive.thriftserver.HiveThriftServer2;
import org.apache.spark.sql.hive.thriftserver.HiveThriftServer2$;
import org.apache.spark.sql.hive.thriftserver.SparkGetColumnsOperation;
import org.apache.spark.sql.hive.thriftserver.SparkGetSchemasOperation;
import org.apache.spark.sql.hive.thriftserver.SparkGetTablesOperation;
import org.apache.spark.sql.hive.thriftserver.server.SparkSQLOperationManager;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import py4j.ClientServerConnection;
import py4j.PythonClient;
import scala.Function4;
import scala.Option;

/**
 * Spark's Thrift server with what acidsql adds to it: the statements of its clients, the tables of
 * the metastore, and the end of a client's session.
 *
 * <p>Janino, which Spark compiles its generated code with, compiles this text when a server is
 * started: thriftserver.Session stands for the class of sessions that this release of Spark uses.
 */
public final class ThriftServer {
  final Asked acidsql;
  final ClientSessions sessions;
  volatile boolean isRunning = true;
  private HiveThriftServer2 server;
  private ThriftCLIService service;

  /**
   * @param asked answers in Python; it gets the secret, what is asked, the session and a text
   * @param secret that tells this server's calls from those of others on this machine
   * @param python client of py4j that makes the calls
   */
  public ThriftServer(Function4 asked, String secret, PythonClient python) {
    this.acidsql = new Asked(asked, secret, python);
    this.sessions = new ClientSessions(acidsql);
  }

  /** Returns what makes the parsers of new sessions, for SparkSessionExtensions.injectParser. */
  public scala.Function2 parsers(SparkContext context) {
    return new Parsers(this, context);
  }

  /** Starts the server as Spark does, and returns when it listens. */
  public void start(thriftserver.Session session, SparkContext context, Configuration configuration)
      throws Exception {
    stayAfterErrors();
    HiveConf conf = HiveUtils$.MODULE$.newClientForExecution(context.conf(), configuration).conf();
    withoutMetastore(conf);
    server = new HiveThriftServer2(session);
    server.init(conf);
    addOperations(conf);
    // Spark does this after the server has started, too late for the first client.
    Object[] both = new Object[] {server, context};
    Object companion = HiveThriftServer2$.MODULE$;
    Reflected.call(companion, companion.getClass(), "createListenerAndUI", both);
    server.start();
  }

  /** Has the server raise its errors rather than end the JVM; Spark 3.5 cannot. */
  private static void stayAfterErrors() throws Exception {
    Method[] methods = HiveThriftServer2$.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals("systemExitOnError")) {
        ((AtomicBoolean) methods[i].invoke(HiveThriftServer2$.MODULE$, new Object[0])).set(false);
      }
    }
  }

  /**
   * Keeps Hive's session, which is behind each of the server's, from making a metastore of its own:
   * Hive looks into it when a session ends, and before it asks whether it authorizes.
   */
  private static void withoutMetastore(HiveConf conf) {
    conf.set("hive.metastore.uris", "thrift://localhost:9083");
    conf.set("hive.metastore.connect.retries", "0"); // so often it tries to connect
    conf.set("hive.internal.ss.authz.settings.applied.marker", "true");
  }

  /** Has sessions make the operations of this class in place of Spark's. */
  private void addOperations(HiveConf conf) throws Exception {
    Operations operations = new Operations(this);
    operations.init(conf);
    operations.start();
    Collection services = server.getServices();
    for (Iterator i = services.iterator(); i.hasNext(); ) {
      Object found = i.next();
      if (found instanceof ThriftCLIService) {
        service = (ThriftCLIService) found;
      } else if (found instanceof CLIService) {
        SessionManager manager = ((CLIService) found).getSessionManager();
        Reflected.set(manager, manager.getClass(), "sparkSqlOperationManager", operations);
        Reflected.set(manager, SessionManager.class, "operationManager", operations);
      }
    }
  }

  /** Returns the port on which it listens. */
  public int port() {
    return service.getPortNumber();
  }

  /** Ends the server and the sessions of its clients. */
  public void stop() throws Exception {
    server.stop();
    sessions.closeAll();
    isRunning = false;
  }
}

/** Questions to Python. */
final class Asked {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final Function4 asked;
  private final String secret;
  private final PythonClient python;
  /** Connections to Python, each with a thread there, that no thread here uses now. */
  private final ConcurrentLinkedDeque idle = new ConcurrentLinkedDeque();

  Asked(Function4 asked, String secret, PythonClient python) {
    this.asked = asked;
    this.secret = secret;
    this.python = python;
  }

  /**
   * Returns the answer to a question; an answer that is an exception is thrown.
   *
   * <p>Threads lend connections: py4j would make one for each thread, and keep it for ever.
   */
  Object ask(String question, Object session, String text) {
    boolean lends = python.getPerThreadConnection() == null;
    if (lends) {
      python.setPerThreadConnection((ClientServerConnection) idle.pollFirst());
    }
    Object answer;
    try {
      answer = asked.apply(secret, question, session, text);
    } finally {
      ClientServerConnection used = python.getPerThreadConnection();
      if (lends && used != null) {
        idle.addFirst(used);
        python.setPerThreadConnection(null);
      }
    }
    if (answer instanceof RuntimeException) {
      throw (RuntimeException) answer;
    }
    return answer;
  }

  /** Returns the rows of an answer to a question about the metastore. */
  Iterator rows(String question, Object session, String[] arguments) throws HiveSQLException {
    try {
      Object answer = ask(question, session, JSON.writeValueAsString(arguments));
      return ((List) JSON.readValue((String) answer, List.class)).iterator();
    } catch (StatementError error) {
      throw new HiveSQLException(error.getMessage(), error.getSqlState(), error);
    } catch (Exception error) {
      throw new HiveSQLException(error);
    }
  }
}

/** Error of a statement, with its condition and SQLSTATE. */
final class StatementError extends RuntimeException implements SparkThrowable {
  private final String condition;
  private final String sqlState;
  private final Map parameters;

  public StatementError(String message, String condition, String sqlState, Map parameters) {
    super(message, null, false, false); // the server sends stack traces to its clients
    this.condition = condition;
    this.sqlState = sqlState;
    this.parameters = parameters;
  }

  public String getCondition() {
    return condition;
  }

  public String getErrorClass() {
    return condition;
  }

  public String getSqlState() {
    return sqlState;
  }

  public Map getMessageParameters() {
    return parameters;
  }

  public QueryContext[] getQueryContext() {
    return new QueryContext[0];
  }

  /** Spark's server puts this text behind the condition. */
  public String toString() {
    String prefix = "[" + condition + "] ";
    return getMessage().startsWith(prefix) ? getMessage().substring(prefix.length()) : getMessage();
  }
}

/** Spark sessions of the clients, by the handles of the server's. */
final class ClientSessions extends ConcurrentHashMap {
  private final Asked acidsql;
  private final Set known =
      Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap()));

  ClientSessions(Asked acidsql) {
    this.acidsql = acidsql;
  }

  boolean isOfClient(Object session) {
    return known.contains(session);
  }

  public Object put(Object handle, Object session) {
    known.add(sparkSession(session));
    return super.put(handle, session);
  }

  public Object remove(Object handle) {
    Object session = super.remove(handle);
    if (session != null && known.remove(sparkSession(session))) {
      acidsql.ask("close", sparkSession(session), null);
    }
    return session;
  }

  void closeAll() {
    for (Iterator i = keySet().iterator(); i.hasNext(); ) {
      remove(i.next());
    }
  }

  static Object sparkSession(Object session) {
    return session instanceof SQLContext ? ((SQLContext) session).sparkSession() : session;
  }
}

/** Maker of the parsers of new sessions. */
final class Parsers extends scala.runtime.AbstractFunction2 {
  private final ThriftServer server;
  private final SparkContext context;

  Parsers(ThriftServer server, SparkContext context) {
    this.server = server;
    this.context = context;
  }

  public Object apply(Object session, Object parser) {
    return Proxy.newProxyInstance(
        ParserInterface.class.getClassLoader(),
        new Class[] {ParserInterface.class},
        new Parser(server, context, session, parser));
  }
}

/**
 * Parser of a session: the plan of a client's statement is its result, which Python makes. All else
 * is parsed by Spark: views, texts within statements, and statements of other sessions.
 */
final class Parser implements InvocationHandler {
  private static final ThreadLocal AT_WORK = new ThreadLocal();
  private static final int MOST_GROUPS = 1000;
  private static final Pattern USE = Pattern.compile("(?is)\\s*use\\s.*");
  private final ThriftServer server;
  private final SparkContext context;
  private final Object session;
  private final Object parser;
  /** Job groups of the statements that were run; the server gives each statement one of its own. */
  private final LinkedHashSet groups = new LinkedHashSet();

  Parser(ThriftServer server, SparkContext context, Object session, Object parser) {
    this.server = server;
    this.context = context;
    this.session = session;
    this.parser = parser;
  }

  public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
    if (method.getName().startsWith("parsePlan") && AT_WORK.get() == null && server.isRunning) {
      String question = question((String) arguments[0]);
      if (question != null) {
        AT_WORK.set(Boolean.TRUE);
        try {
          Object plan = server.acidsql.ask(question, session, (String) arguments[0]);
          if (plan != null) {
            return plan;
          }
        } finally {
          AT_WORK.remove();
        }
      }
    }
    try {
      return method.invoke(parser, arguments);
    } catch (InvocationTargetException error) {
      throw error.getTargetException();
    }
  }

  /** Returns what a text is: a client's statement, the USE of a session that opens, or null. */
  private String question(String text) {
    String group = context.getLocalProperty("spark.jobGroup.id");
    if (server.sessions.isOfClient(session)) {
      return group != null && isFirstOf(group) ? "run" : null;
    }
    return group == null && USE.matcher(text).matches() ? "use" : null;
  }

  private boolean isFirstOf(String group) {
    synchronized (groups) {
      if (groups.size() >= MOST_GROUPS) {
        groups.remove(groups.iterator().next());
      }
      return groups.add(group);
    }
  }
}

/** Maker of the operations of clients' sessions. */
final class Operations extends SparkSQLOperationManager {
  private final ThriftServer server;
  private final Map operations;

  Operations(ThriftServer server) throws Exception {
    this.server = server;
    // Spark's class looks for them one class above that of the object.
    this.operations = (Map) Reflected.get(this, OperationManager.class, "handleToOperation");
  }

  public Map handleToOperation() {
    return operations;
  }

  public ConcurrentHashMap sessionToContexts() {
    // Spark's constructor asks before there is a server.
    return server == null ? super.sessionToContexts() : server.sessions;
  }

  private thriftserver.Session session(HiveSession client) {
    return (thriftserver.Session) server.sessions.get(client.getSessionHandle());
  }

  public synchronized GetSchemasOperation newGetSchemasOperation(
      HiveSession client, String catalog, String schema) {
    GetSchemasOperation made = new Schemas(server, session(client), client, catalog, schema);
    handleToOperation().put(made.getHandle(), made);
    return made;
  }

  public synchronized MetadataOperation newGetTablesOperation(
      HiveSession client, String catalog, String schema, String table, List types) {
    MetadataOperation made =
        new Tables(server, session(client), client, catalog, schema, table, types);
    handleToOperation().put(made.getHandle(), made);
    return made;
  }

  public synchronized GetColumnsOperation newGetColumnsOperation(
      HiveSession client, String catalog, String schema, String table, String column) {
    GetColumnsOperation made =
        new Columns(server, session(client), client, catalog, schema, table, column);
    handleToOperation().put(made.getHandle(), made);
    return made;
  }
}

/** Operation that lists databases: Spark's, then those that the metastore alone knows. */
final class Schemas extends SparkGetSchemasOperation {
  private final ThriftServer server;
  private final thriftserver.Session session;
  private final String schema;

  Schemas(
      ThriftServer server,
      thriftserver.Session session,
      HiveSession client,
      String catalog,
      String schema) {
    super(session, client, catalog, schema);
    this.server = server;
    this.session = session;
    this.schema = schema;
  }

  public void runInternal() throws HiveSQLException {
    Object spark = ClientSessions.sparkSession(session);
    Iterator rows = server.acidsql.rows("schemas", spark, new String[] {schema});
    super.runInternal();
    while (rows.hasNext()) {
      rowSet.addRow(((List) rows.next()).toArray());
    }
  }
}

/** Operation that lists tables and views: Spark's, then the metastore's. */
final class Tables extends SparkGetTablesOperation {
  private final ThriftServer server;
  private final thriftserver.Session session;
  private final String schema;
  private final String table;
  private final List types;

  Tables(
      ThriftServer server,
      thriftserver.Session session,
      HiveSession client,
      String catalog,
      String schema,
      String table,
      List types) {
    super(session, client, catalog, schema, table, types);
    this.server = server;
    this.session = session;
    this.schema = schema;
    this.table = table;
    this.types = types;
  }

  public void runInternal() throws HiveSQLException {
    Object spark = ClientSessions.sparkSession(session);
    Iterator rows = server.acidsql.rows("tables", spark, new String[] {schema, table});
    super.runInternal();
    while (rows.hasNext()) {
      List row = (List) rows.next();
      if (types == null || types.isEmpty() || types.contains(row.get(2))) {
        Object comment = Option.apply(row.get(3));
        Object[] cells = new Object[] {row.get(0), row.get(1), row.get(2), comment};
        Reflected.call(this, SparkGetTablesOperation.class, "addToRowSet", cells);
      }
    }
  }
}

/** Operation that lists columns: Spark's, then the metastore's. */
final class Columns extends SparkGetColumnsOperation {
  private final ThriftServer server;
  private final thriftserver.Session session;
  private final String schema;
  private final String table;
  private final String column;

  Columns(
      ThriftServer server,
      thriftserver.Session session,
      HiveSession client,
      String catalog,
      String schema,
      String table,
      String column) {
    super(session, client, catalog, schema, table, column);
    this.server = server;
    this.session = session;
    this.schema = schema;
    this.table = table;
    this.column = column;
  }

  public void runInternal() throws HiveSQLException {
    Object spark = ClientSessions.sparkSession(session);
    Iterator rows = server.acidsql.rows("columns", spark, new String[] {schema, table});
    super.runInternal();
    Pattern pattern =
        column == null ? null : Pattern.compile(convertIdentifierPattern(column, false));
    while (rows.hasNext()) {
      List row = (List) rows.next();
      StructType type = new StructType();
      for (Iterator i = ((List) row.get(2)).iterator(); i.hasNext(); ) {
        List found = (List) i.next();
        boolean nullable = ((Boolean) found.get(2)).booleanValue();
        DataType kind = type((String) found.get(1));
        type = type.add((String) found.get(0), kind, nullable, (String) found.get(3));
      }
      type = CharVarcharUtils.replaceCharVarcharWithStringInSchema(type);
      Object[] cells = new Object[] {pattern, row.get(0), row.get(1), type};
      Reflected.call(this, SparkGetColumnsOperation.class, "addToRowSet", cells);
    }
  }

  /** Returns the type of a column; void for one of Hive's that Spark does not have. */
  private static DataType type(String text) {
    try {
      return DataType.fromDDL(text);
    } catch (Exception error) {
      return DataTypes.NullType;
    }
  }
}

/** Access to what Spark keeps to itself. */
final class Reflected {
  static void call(Object object, Class owner, String name, Object[] arguments)
      throws HiveSQLException {
    Method[] methods = owner.getDeclaredMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals(name)) {
        try {
          methods[i].setAccessible(true);
          methods[i].invoke(object, arguments);
        } catch (Exception error) {
          throw new HiveSQLException(error);
        }
        return;
      }
    }
    throw new HiveSQLException("Spark has no " + owner.getName() + "." + name);
  }

  static Object get(Object object, Class owner, String name) throws Exception {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(object);
  }

  static void set(Object object, Class owner, String name, Object value) throws Exception {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    field.set(object, value);
  }
}
