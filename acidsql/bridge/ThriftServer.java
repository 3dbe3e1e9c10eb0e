package acidsql.bridge;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hive.service.cli.CLIService;
import org.apache.hive.service.cli.HiveSQLException;
import org.apache.hive.service.cli.OperationState;
import org.apache.hive.service.cli.RowSet;
import org.apache.hive.service.cli.operation.GetColumnsOperation;
import org.apache.hive.service.cli.operation.GetCrossReferenceOperation;
import org.apache.hive.service.cli.operation.GetPrimaryKeysOperation;
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
import scala.Option;

/**
 * Spark's Thrift server with extensions of acidsql: it runs the statements of clients, lists the
 * tables of the metastore, and handles the end of a client's session.
 *
 * <p>Janino, which also compiles Spark's generated code, compiles this text when a server starts.
 * thriftserver.Session is replaced by the session class of this release of Spark.
 */
public final class ThriftServer extends ClientStatements {
  final ClientSessions sessions;
  final SparkContext context;
  private HiveThriftServer2 server;
  private ThriftCLIService service;

  public ThriftServer(Asked asked, SparkContext context) {
    super(asked);
    this.context = context;
    this.sessions = new ClientSessions(asked, new SparkSessionOf());
  }

  public ClientParser parser(Object session, ParserInterface spark) {
    return new Parser(this, session, spark);
  }

  /** Starts the server like Spark, and returns when it listens. */
  public void start(thriftserver.Session session, Configuration configuration) throws Exception {
    stayAfterErrors();
    HiveConf conf = HiveUtils$.MODULE$.newClientForExecution(context.conf(), configuration).conf();
    withoutMetastore(conf);
    server = new HiveThriftServer2(session);
    server.init(conf);
    addOperations(conf);
    // Spark does this after the start of the server, which is too late for the first client.
    Object[] both = new Object[] {server, context};
    Object companion = HiveThriftServer2$.MODULE$;
    Called.call(companion, companion.getClass(), "createListenerAndUI", both);
    server.start();
  }

  /** Makes the server throw its errors instead of ending the JVM. Spark 3.5 has no such option. */
  private static void stayAfterErrors() throws Exception {
    Method[] methods = HiveThriftServer2$.class.getMethods();
    for (int i = 0; i < methods.length; i++) {
      if (methods[i].getName().equals("systemExitOnError")) {
        ((AtomicBoolean) methods[i].invoke(HiveThriftServer2$.MODULE$, new Object[0])).set(false);
      }
    }
  }

  /**
   * Prevents Hive's session, on which each of the server's sessions is based, from creating its own
   * metastore. Hive reads it when a session ends, and before it checks whether authorization is on.
   */
  private static void withoutMetastore(HiveConf conf) {
    conf.set("hive.metastore.uris", "thrift://localhost:9083");
    conf.set("hive.metastore.connect.retries", "0"); // number of attempts to connect
    conf.set("hive.internal.ss.authz.settings.applied.marker", "true");
  }

  /** Makes sessions create the operations of this file in place of Spark's. */
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

  /** Returns the port on which the server listens. */
  public int port() {
    return service.getPortNumber();
  }

  /** Ends the server and the sessions of its clients. */
  public void stop() throws Exception {
    server.stop();
    sessions.clear();
    isRunning = false;
  }
}

/** Lists of the metastore's objects. */
final class Lists {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** Returns the rows of the answer to a request about the metastore. */
  static Iterator of(Asked acidsql, String question, Object session, String[] arguments)
      throws HiveSQLException {
    try {
      Object answer = acidsql.ask(question, session, JSON.writeValueAsString(arguments));
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
  // What clients see of an error.

  public StatementError(String message, String condition, String sqlState, Map parameters) {
    super(message);
    setError(message, condition, sqlState, parameters);
  }

  public QueryContext[] getQueryContext() {
    return new QueryContext[0];
  }

  /** Returns the text that Spark's server appends to the condition. */
  public String toString() {
    String prefix = "[" + condition + "] ";
    return getMessage().startsWith(prefix) ? getMessage().substring(prefix.length()) : getMessage();
  }
}

/** Returns the Spark session of a client's session, which is a SQLContext before Spark 4. */
final class SparkSessionOf implements Function {
  public Object apply(Object session) {
    return of(session);
  }

  static Object of(Object session) {
    return session instanceof SQLContext ? ((SQLContext) session).sparkSession() : session;
  }
}

/** Parser of a session. The first text that Spark parses for a statement is the client's. */
final class Parser extends ClientParser {
  private static final Pattern USE = Pattern.compile("(?is)\\s*use\\s.*");
  private final ThriftServer server;

  Parser(ThriftServer server, Object session, ParserInterface spark) {
    super(server, session, spark);
    this.server = server;
  }

  /**
   * Returns "run" for a client's statement, "use" for the USE of a session that opens, or null. The
   * server gives each statement its own job group.
   */
  protected String question(String text) {
    String group = server.context.getLocalProperty("spark.jobGroup.id");
    if (server.sessions.isOfClient(session)) {
      return group != null && isFirstOf(group) ? "run" : null;
    }
    return group == null && USE.matcher(text).matches() ? "use" : null;
  }
}

/** Factory of the operations of clients' sessions. */
final class Operations extends SparkSQLOperationManager {
  private final ThriftServer server;
  private final Map operations;

  Operations(ThriftServer server) throws Exception {
    this.server = server;
    // Spark's method looks for this field only in the direct superclass of the object's class.
    this.operations = (Map) Reflected.get(this, OperationManager.class, "handleToOperation");
  }

  public Map handleToOperation() {
    return operations;
  }

  public ConcurrentHashMap sessionToContexts() {
    // Spark's constructor calls this method before the server is set.
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

  public synchronized GetPrimaryKeysOperation newGetPrimaryKeysOperation(
      HiveSession client, String catalog, String schema, String table) {
    GetPrimaryKeysOperation made =
        new PrimaryKeys(server, session(client), client, catalog, schema, table);
    handleToOperation().put(made.getHandle(), made);
    return made;
  }

  public synchronized GetCrossReferenceOperation newGetCrossReferenceOperation(
      HiveSession client,
      String catalog,
      String schema,
      String table,
      String foreignCatalog,
      String foreignSchema,
      String foreignTable) {
    GetCrossReferenceOperation made =
        new ForeignKeys(
            client, catalog, schema, table, foreignCatalog, foreignSchema, foreignTable);
    handleToOperation().put(made.getHandle(), made);
    return made;
  }
}

/** Operation that lists a table's primary key columns. Hive's own queries Hive's metastore. */
final class PrimaryKeys extends GetPrimaryKeysOperation {
  private final ThriftServer server;
  private final thriftserver.Session session;
  private final String schema;
  private final String table;

  PrimaryKeys(
      ThriftServer server,
      thriftserver.Session session,
      HiveSession client,
      String catalog,
      String schema,
      String table) {
    super(client, catalog, schema, table);
    this.server = server;
    this.session = session;
    this.schema = schema;
    this.table = table;
  }

  public void runInternal() throws HiveSQLException {
    setState(OperationState.RUNNING);
    Object spark = SparkSessionOf.of(session);
    Iterator rows = Lists.of(server.acidsql, "primary_keys", spark, new String[] {schema, table});
    RowSet found = answer();
    while (rows.hasNext()) {
      found.addRow(((List) rows.next()).toArray());
    }
    setState(OperationState.FINISHED);
  }

  private RowSet answer() throws HiveSQLException {
    try {
      Field rows = GetPrimaryKeysOperation.class.getDeclaredField("rowSet");
      rows.setAccessible(true);
      return (RowSet) rows.get(this);
    } catch (Exception error) {
      throw new HiveSQLException(error);
    }
  }
}

/** Operation that lists the foreign keys between two tables. The list is empty. */
final class ForeignKeys extends GetCrossReferenceOperation {
  ForeignKeys(
      HiveSession client,
      String catalog,
      String schema,
      String table,
      String foreignCatalog,
      String foreignSchema,
      String foreignTable) {
    super(client, catalog, schema, table, foreignCatalog, foreignSchema, foreignTable);
  }

  public void runInternal() throws HiveSQLException {
    setState(OperationState.RUNNING);
    setState(OperationState.FINISHED);
  }
}

/** Operation that lists databases: first Spark's, then those that only the metastore has. */
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
    Object spark = SparkSessionOf.of(session);
    Iterator rows = Lists.of(server.acidsql, "schemas", spark, new String[] {schema});
    super.runInternal();
    while (rows.hasNext()) {
      rowSet.addRow(((List) rows.next()).toArray());
    }
  }
}

/** Operation that lists tables and views: first Spark's, then the metastore's. */
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
    Object spark = SparkSessionOf.of(session);
    Iterator rows = Lists.of(server.acidsql, "tables", spark, new String[] {schema, table});
    super.runInternal();
    while (rows.hasNext()) {
      List row = (List) rows.next();
      if (types == null || types.isEmpty() || types.contains(row.get(2))) {
        Object comment = Option.apply(row.get(3));
        Object[] cells = new Object[] {row.get(0), row.get(1), row.get(2), comment};
        Called.call(this, SparkGetTablesOperation.class, "addToRowSet", cells);
      }
    }
  }
}

/** Operation that lists columns: first Spark's, then the metastore's. */
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
    Object spark = SparkSessionOf.of(session);
    Iterator rows = Lists.of(server.acidsql, "columns", spark, new String[] {schema, table});
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
      if (!knowsChar()) {
        type = CharVarcharUtils.replaceCharVarcharWithStringInSchema(type);
      }
      Object[] cells = new Object[] {pattern, row.get(0), row.get(1), type};
      Called.call(this, SparkGetColumnsOperation.class, "addToRowSet", cells);
    }
  }

  /** Returns whether this release reports the types and sizes of CHAR and VARCHAR. */
  private boolean knowsChar() throws HiveSQLException {
    Object[] one = new Object[] {type("CHAR(1)")};
    try {
      Called.call(this, SparkGetColumnsOperation.class, "toJavaSQLType", one);
      return true;
    } catch (HiveSQLException unknown) {
      return false;
    }
  }

  /** Returns the type of a column; void for a Hive type that Spark does not have. */
  private static DataType type(String text) {
    try {
      return DataType.fromDDL(text);
    } catch (Exception error) {
      return DataTypes.NullType;
    }
  }
}

/** Calls of private methods of Spark. */
final class Called {
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
}
