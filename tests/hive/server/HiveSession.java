import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.ql.DriverFactory;
import org.apache.hadoop.hive.ql.IDriver;
import org.apache.hadoop.hive.ql.processors.CommandProcessor;
import org.apache.hadoop.hive.ql.processors.CommandProcessorFactory;
import org.apache.hadoop.hive.ql.session.SessionState;

/** A session: settings, a current database and, from START TRANSACTION on, a transaction of its own. */
class HiveSession {
  private final SessionState state;
  private IDriver inTransaction;

  /** With a null engine it is the one of hive-site.xml. */
  HiveSession(String engine) {
    HiveConf conf = new HiveConf(HiveSession.class);
    if (engine != null) {
      HiveConf.setVar(conf, HiveConf.ConfVars.HIVE_EXECUTION_ENGINE, engine);
    }
    state = SessionState.start(conf);
  }

  /** Make this the session of the current thread. */
  void attach() {
    SessionState.setCurrentSessionState(state);
  }

  /** The rows of a statement; an answer that is no table has one text per row. */
  List<Object> run(String sql) throws Exception {
    String[] words = sql.trim().split("\\s+");
    CommandProcessor command = CommandProcessorFactory.getForHiveCommand(words, state.getConf());
    if (command != null && !(command instanceof IDriver)) { // SET and its like
      command.run(sql.trim().substring(words[0].length()).trim());
      return List.of();
    }
    // A driver copies the settings when it is made, so each statement has its own. Closing it rolls
    // back an explicit transaction, so that one's driver stays.
    IDriver driver = inTransaction != null ? inTransaction : DriverFactory.newDriver(state.getConf());
    try {
      driver.run(sql);
      return rows(driver);
    } finally {
      String verb = words[0].toLowerCase(Locale.ROOT);
      boolean ends = verb.equals("commit") || verb.equals("rollback");
      inTransaction = verb.equals("start") || (inTransaction != null && !ends) ? driver : null;
      if (inTransaction == null) {
        driver.close();
        driver.destroy();
      }
    }
  }

  private static List<Object> rows(IDriver driver) throws Exception {
    List<Object> rows = new ArrayList<>();
    List<Object> batch = new ArrayList<>();
    while (driver.getResults(batch)) {
      for (Object row : batch) {
        rows.add(row instanceof List ? row : List.of(row));
      }
      batch.clear();
    }
    return rows;
  }
}
