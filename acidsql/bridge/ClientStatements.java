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
 * What a server of Spark's needs so that Python runs the statements of its clients.
 *
 * <p>Janino, which Spark compiles its generated code with, compiles this text when a server is
 * started, and then the text of that server.
 */
public abstract class ClientStatements {
  public final Asked acidsql;
  public volatile boolean isRunning = true;

  public ClientStatements(Asked asked) {
    this.acidsql = asked;
  }

  /** Returns the parser of a new session; it stands before Spark's. */
  public abstract ClientParser parser(Object session, ParserInterface spark);

  /** Returns what makes the parsers of new sessions, for SparkSessionExtensions.injectParser. */
  public scala.Function2 parsers() {
    return new Parsers(this);
  }
}

/** Maker of the parsers of new sessions. */
final class Parsers extends scala.runtime.AbstractFunction2 {
  private final ClientStatements server;

  Parsers(ClientStatements server) {
    this.server = server;
  }

  public Object apply(Object session, Object parser) {
    return server.parser(session, (ParserInterface) parser);
  }
}

/** Spark sessions of a server's clients, by the server's own keys. */
public final class ClientSessions extends ConcurrentHashMap {
  private final Asked acidsql;
  private final Function sparkSession;
  private final Set known =
      Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap()));

  /**
   * @param acidsql learns of sessions that end
   * @param sparkSession returns the Spark session of what the server keeps for a client
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

/** Questions to Python. */
public final class Asked {
  private final Function3 asked;
  private final PythonClient python;
  /** Connections to Python, each with a thread there, that no thread here uses now. */
  private final ConcurrentLinkedDeque idle = new ConcurrentLinkedDeque();

  /**
   * @param asked answers in Python; it gets what is asked, the session and a text
   * @param python client of py4j that makes the calls
   */
  public Asked(Function3 asked, PythonClient python) {
    this.asked = asked;
    this.python = python;
  }

  /**
   * Returns the answer to a question; an answer that is an exception is thrown, also where Java
   * wants it declared: Spark's own code, in Scala, declares none.
   *
   * <p>Threads lend connections: py4j would make one for each thread, and keep it for ever.
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
 * Parser of a session: the plan of a client's statement is its result, which Python makes. All else
 * is parsed by Spark: views, texts within statements, and statements of other sessions.
 */
public abstract class ClientParser implements ParserInterface {
  private static final ThreadLocal AT_WORK = new ThreadLocal();
  private static final int MOST_REQUESTS = 1000;
  protected final Object session;
  /** The requests whose statements were run. Each has a name of its own. */
  private final LinkedHashSet requests = new LinkedHashSet();
  private final ClientStatements server;
  private final ParserInterface spark;

  public ClientParser(ClientStatements server, Object session, ParserInterface spark) {
    this.server = server;
    this.session = session;
    this.spark = spark;
  }

  /** Returns whether Python runs a statement in this thread now. */
  public static boolean isAtWork() {
    return AT_WORK.get() != null;
  }

  /** Returns what to ask Python about a text that is to be parsed, or null for Spark's parser. */
  protected abstract String question(String text);

  /** Returns whether this is the first text that is parsed for a request. */
  protected boolean isFirstOf(String request) {
    synchronized (requests) {
      if (requests.size() >= MOST_REQUESTS) {
        requests.remove(requests.iterator().next());
      }
      return requests.add(request);
    }
  }

  /** Returns what Python gets of a text and the values of its parameters, null for none. */
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

  /** Asks Python, whose own calls in this thread are not asked about. */
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

/** Access to what Spark keeps to itself. */
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
