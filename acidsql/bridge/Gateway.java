package acidsql.bridge;

import java.lang.reflect.Field;
import java.net.SocketException;
import java.util.List;
import javax.net.SocketFactory;
import py4j.CallbackClient;
import py4j.DefaultGatewayServerListener;
import py4j.Gateway;
import py4j.GatewayServer;
import py4j.Py4JServerConnection;
import py4j.PythonClient;

/**
 * Makes the gateway send its answers without delay (TCP_NODELAY).
 *
 * <p>Without it, the end of an answer that is longer than the gateway's buffers waits until Python
 * has acknowledged the rest (Nagle's algorithm), which takes 40 ms on Linux.
 */
public final class PromptAnswers extends DefaultGatewayServerListener {
  /** Changes the current and future connections of a gateway. */
  public PromptAnswers(GatewayServer gateway) throws Exception {
    gateway.addListener(this);
    Field field;
    try {
      field = GatewayServer.class.getDeclaredField("connections");
    } catch (NoSuchFieldException otherRelease) {
      return; // The current connections stay as they are.
    }
    field.setAccessible(true);
    Object[] connections = ((List) field.get(gateway)).toArray();
    for (int i = 0; i < connections.length; i++) {
      connectionStarted((Py4JServerConnection) connections[i]);
    }
  }

  public void connectionStarted(Py4JServerConnection connection) {
    try {
      connection.getSocket().setTcpNoDelay(true);
    } catch (SocketException closed) {
      // No process waits for its answers.
    }
  }
}

/**
 * Makes the JVM send a token to the server through which it calls Python.
 *
 * <p>Spark's own client of that server has no token, because py4j omits it when it sets the
 * server's port.
 */
public final class NamedCaller {
  public NamedCaller(GatewayServer server, String token) throws Exception {
    Gateway gateway = server.getGateway();
    PythonClient before = (PythonClient) gateway.getCallbackClient();
    PythonClient named =
        new PythonClient(
            gateway,
            null,
            before.getPort(),
            before.getAddress(),
            CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
            CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT,
            SocketFactory.getDefault(),
            before.getJavaServer(),
            true,
            before.getReadTimeout(),
            token);
    Field field = Gateway.class.getDeclaredField("cbClient");
    field.setAccessible(true);
    field.set(gateway, named);
    before.shutdown();
  }
}
