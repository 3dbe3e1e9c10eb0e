package org.apache.hadoop.hive.metastore;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLServerSocketFactory;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransportException;

/**
 * Stands before the class of this name in Hive 3.1, which cannot be told where to listen: the socket
 * on every interface that it is given is exchanged for one on loopback alone. One of TLS has the
 * key of the system property javax.net.ssl.keyStore.
 */
public class TServerSocketKeepAlive extends TServerSocket {
    public TServerSocketKeepAlive(TServerSocket everywhere) throws TTransportException {
        super(onLoopback(everywhere));
    }

    private static ServerSocket onLoopback(TServerSocket everywhere) throws TTransportException {
        boolean secure = everywhere.getServerSocket() instanceof SSLServerSocket;
        int port = everywhere.getServerSocket().getLocalPort();
        everywhere.close();
        try {
            ServerSocket socket = secure
                    ? SSLServerSocketFactory.getDefault().createServerSocket()
                    : new ServerSocket();
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return socket;
        } catch (IOException error) {
            throw new TTransportException(error);
        }
    }
}
