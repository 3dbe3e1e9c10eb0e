package acidsql.bridge;

import java.lang.reflect.Field;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.unsafe.Platform;
import py4j.ClientServerConnection;
import py4j.PythonClient;
import scala.Function3;

/**
 * Base of a Spark server whose clients' statements run in Python.
 *
 * <p>Janino, which also compiles Spark's generated code, compiles this text when a server starts,
 * and then the text of that server.
 */
public abstract class ClientStatements {
  public final Asked acidsql;
  public volatile boolean isRunning = true;

  public ClientStatements(Asked asked) {
    this.acidsql = asked;
  }

  /** Returns the parser of a new session, which runs before Spark's parser. */
  public abstract ClientParser parser(Object session, ParserInterface spark);

  /** Returns the factory of session parsers for SparkSessionExtensions.injectParser. */
  public scala.Function2 parsers() {
    return new Parsers(this);
  }
}

/** Factory of the parsers of new sessions. */
final class Parsers extends scala.runtime.AbstractFunction2 {
  private final ClientStatements server;

  Parsers(ClientStatements server) {
    this.server = server;
  }

  public Object apply(Object session, Object parser) {
    return server.parser(session, (ParserInterface) parser);
  }
}

/** Spark sessions of a server's clients, by the server's keys. */
public final class ClientSessions extends ConcurrentHashMap {
  private final Asked acidsql;
  private final Function sparkSession;
  private final Set known =
      Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap()));

  /**
   * @param acidsql is notified when a session ends
   * @param sparkSession returns the Spark session for the object that the server keeps per client
   */
  public ClientSessions(Asked acidsql, Function sparkSession) {
    this.acidsql = acidsql;
    this.sparkSession = sparkSession;
  }

  public boolean isOfClient(Object session) {
    return known.contains(session);
  }

  public Object put(Object key, Object kept) {
    known.add(sparkSession.apply(kept));
    return super.put(key, kept);
  }

  public Object computeIfAbsent(Object key, Function made) {
    Object kept = super.computeIfAbsent(key, made);
    if (kept != null) {
      known.add(sparkSession.apply(kept));
    }
    return kept;
  }

  public Object remove(Object key) {
    Object kept = super.remove(key);
    if (kept != null && known.remove(sparkSession.apply(kept))) {
      acidsql.ask("close", sparkSession.apply(kept), null);
    }
    return kept;
  }

  /** Ends all sessions. */
  public void clear() {
    for (Iterator i = keySet().iterator(); i.hasNext(); ) {
      remove(i.next());
    }
  }
}

/** Requests to Python. */
public final class Asked {
  private final Function3 asked;
  private final PythonClient python;
  /** Connections to Python that no JVM thread uses now. Each has a thread in Python. */
  private final ConcurrentLinkedDeque idle = new ConcurrentLinkedDeque();

  /**
   * @param asked answers requests in Python; it takes the request's name, the session and a text
   * @param python client of py4j that makes the calls
   */
  public Asked(Function3 asked, PythonClient python) {
    this.asked = asked;
    this.python = python;
  }

  /**
   * Returns the answer to a request. If the answer is an exception, it is thrown, even a checked
   * one: Spark's Scala code does not declare exceptions.
   *
   * <p>Threads share idle connections. py4j would make one for each thread, and keep it forever.
   */
  public Object ask(String question, Object session, String text) {
    boolean lends = python.getPerThreadConnection() == null;
    if (lends) {
      python.setPerThreadConnection((ClientServerConnection) idle.pollFirst());
    }
    Object answer;
    try {
      answer = asked.apply(question, session, text);
    } finally {
      ClientServerConnection used = python.getPerThreadConnection();
      if (lends && used != null) {
        idle.addFirst(used);
        python.setPerThreadConnection(null);
      }
    }
    if (answer instanceof Throwable) {
      Platform.throwException((Throwable) answer);
    }
    return answer;
  }
}

/**
 * Parser of a session. For a client's statement, Python runs the statement and returns the plan of
 * its result. Spark parses everything else: views, texts within statements, and statements of other
 * sessions.
 */
public abstract class ClientParser implements ParserInterface {
  private static final ThreadLocal AT_WORK = new ThreadLocal();
  private static final int MOST_REQUESTS = 1000;
  protected final Object session;
  /** Names of the requests whose statements have run. Each request has a unique name. */
  private final LinkedHashSet requests = new LinkedHashSet();
  private final ClientStatements server;
  private final ParserInterface spark;

  public ClientParser(ClientStatements server, Object session, ParserInterface spark) {
    this.server = server;
    this.session = session;
    this.spark = spark;
  }

  /** Returns whether Python is running a statement for this thread. */
  public static boolean isAtWork() {
    return AT_WORK.get() != null;
  }

  /** Returns the request to send to Python for a text, or null to use Spark's parser. */
  protected abstract String question(String text);

  /** Returns whether this is the first text of a request to be parsed. */
  protected boolean isFirstOf(String request) {
    synchronized (requests) {
      if (requests.size() >= MOST_REQUESTS) {
        requests.remove(requests.iterator().next());
      }
      return requests.add(request);
    }
  }

  /** Returns the text for Python; it can include the values of parameters, which can be null. */
  protected String described(String text, Object parameters) {
    return text;
  }

  /** Returns Python's plan of a text, or null. */
  private LogicalPlan asked(String text, Object parameters) {
    if (isAtWork() || !server.isRunning) {
      return null;
    }
    String question = question(text);
    return question == null ? null : (LogicalPlan) ask(question, described(text, parameters));
  }

  private Object ask(String question, String described) {
    return atWork(server, question, session, described);
  }

  /** Sends a request to Python. Calls by Python in this thread do not send further requests. */
  public static Object atWork(ClientStatements server, String question, Object session, String described) {
    AT_WORK.set(Boolean.TRUE);
    try {
      return server.acidsql.ask(question, session, described);
    } finally {
      AT_WORK.remove();
    }
  }

  // The methods of this release's ParserInterface.
}

/** Access to private fields of Spark. */
public final class Reflected {
  public static Object get(Object object, Class owner, String name) throws Exception {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    return field.get(object);
  }

  public static void set(Object object, Class owner, String name, Object value) throws Exception {
    Field field = owner.getDeclaredField(name);
    field.setAccessible(true);
    field.set(object, value);
  }
}
