package org.apache.hadoop.hive.metastore;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import org.apache.thrift.transport.TServerSocket;
import org.apache.thrift.transport.TTransportException;

/**
 * Stands before the class of this name in Hive 3.1, which cannot be told where to listen: the socket
 * on every interface that it is given is exchanged for one on loopback alone.
 */
public class TServerSocketKeepAlive extends TServerSocket {
    public TServerSocketKeepAlive(TServerSocket everywhere) throws TTransportException {
        super(new InetSocketAddress(InetAddress.getLoopbackAddress(), close(everywhere)));
    }

    private static int close(TServerSocket everywhere) {
        int port = everywhere.getServerSocket().getLocalPort();
        everywhere.close();
        return port;
    }
}
