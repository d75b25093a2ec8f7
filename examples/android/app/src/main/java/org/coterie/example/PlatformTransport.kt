package org.coterie.example

import java.io.IOException
import java.net.URL
import javax.net.ssl.HttpsURLConnection
import org.coterie.Transport

/** The platform's HTTPS, which verifies the server by the system's certificates or the app's network security configuration. */
class PlatformTransport(private val serverUrl: String) : Transport {
    override fun send(request: Transport.Request): Transport.Response {
        val connection = URL(serverUrl + request.target).openConnection() as HttpsURLConnection
        try {
            connection.requestMethod = request.method
            connection.instanceFollowRedirects = false
            connection.connectTimeout = CONNECT_MS_MAX
            connection.readTimeout = request.answerMsMax + ANSWER_MS_MORE
            for (i in 0 until request.headers.size - 1 step 2) {
                connection.setRequestProperty(request.headers[i], request.headers[i + 1])
            }
            request.body?.let { body ->
                connection.doOutput = true
                connection.setFixedLengthStreamingMode(body.size)
                connection.setRequestProperty("Content-Type", request.contentType)
                connection.outputStream.use { it.write(body) }
            }
            return answer(connection)
        } finally {
            connection.disconnect()
        }
    }

    private fun answer(connection: HttpsURLConnection): Transport.Response {
        val status = connection.responseCode
        val stream = if (status >= 400) connection.errorStream else connection.inputStream
        val body = stream?.use { it.readBytes() } ?: ByteArray(0)
        if (status < 0) throw IOException("the server's answer is not HTTP")
        val response = Transport.Response(status, body)
        for ((name, values) in connection.headerFields) {
            if (name != null) response.headers[name] = values.joinToString(", ")
        }
        return response
    }

    private companion object {
        const val CONNECT_MS_MAX = 20_000
        const val ANSWER_MS_MORE = 30_000
    }
}
