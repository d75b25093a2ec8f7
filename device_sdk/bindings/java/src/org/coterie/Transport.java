package org.coterie;

import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The app's own HTTPS, for example the platform's. It must verify the server's certificate. */
public interface Transport {
  /** Sends one request; null or an exception means that no answer came. */
  Response send(Request request) throws IOException;

  final class Request {
    public final String method;
    public final String target; // path and query, to be appended to the server's URL
    public final List<String> headers; // names and values by turns
    public final String contentType; // null: no body
    public final byte[] body;
    public final int answerMsMax; // the server may hold the request this long

    Request(String method, String target, List<String> headers, String contentType, byte[] body, int answerMsMax) {
      this.method = method;
      this.target = target;
      this.headers = headers;
      this.contentType = contentType;
      this.body = body;
      this.answerMsMax = answerMsMax;
    }
  }

  final class Response {
    public final int status;
    public final Map<String, String> headers = new LinkedHashMap<>();
    public final byte[] body;

    public Response(int status, byte[] body) {
      this.status = status;
      this.body = body == null ? new byte[0] : body;
    }
  }
}
