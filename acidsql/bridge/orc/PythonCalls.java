package acidsql.orc;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * Calls from Spark's threads to Python.
 *
 * <p>py4j keeps a connection for each thread that has called Python, and Python keeps a thread for
 * each connection. Spark's pools for stages and broadcasts have up to 128 threads each and use them
 * in turn. After some hundred queries, a session would have as many connections. Separate threads
 * therefore make these calls, only as many as the calls that run in parallel.
 */
final class PythonCalls {
  private static final long IDLE_MINUTES = 10;
  private static final ExecutorService THREADS =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          IDLE_MINUTES,
          TimeUnit.MINUTES,
          new SynchronousQueue(),
          new ThreadFactory() {
            public Thread newThread(Runnable work) {
              // Without Spark's thread locals, which would keep its session alive.
              Thread made = new Thread(null, work, "acidsql-python", 0, false);
              made.setDaemon(true);
              return made;
            }
          });

  private PythonCalls() {}

  /** Calls a function of Python. */
  static Object call(Function function, String request) {
    // py4j runs this call in the Python thread that waits for this thread.
    if (Thread.currentThread().getName().startsWith("Thread-")) {
      return function.apply(request);
    }
    try {
      return THREADS.submit(new Call(function, request)).get();
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new RuntimeException("interrupted while Python planned a scan", error);
    } catch (ExecutionException error) {
      Throwable cause = error.getCause();
      if (cause instanceof RuntimeException) {
        throw (RuntimeException) cause;
      }
      throw new RuntimeException(cause);
    }
  }

  private static final class Call implements Callable {
    private final Function function;
    private final String request;

    Call(Function function, String request) {
      this.function = function;
      this.request = request;
    }

    public Object call() {
      return function.apply(request);
    }
  }
}
