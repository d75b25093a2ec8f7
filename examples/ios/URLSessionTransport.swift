// The platform's HTTPS, which verifies the server by the system's certificates or the app's transport security settings.
import Coterie
import Foundation

final class URLSessionTransport: Transport {
    private static let answerMsMore = 30_000.0
    private let serverURL: String
    private let session = URLSession(configuration: .ephemeral)

    init(serverURL: String) { self.serverURL = serverURL }

    func send(_ request: HTTPRequest) -> HTTPResponse? {
        guard let url = URL(string: serverURL + request.target) else { return nil }
        var sent = URLRequest(url: url)
        sent.httpMethod = request.method
        sent.timeoutInterval = (Double(request.answerMsMax) + Self.answerMsMore) / 1000
        for header in request.headers { sent.setValue(header.value, forHTTPHeaderField: header.name) }
        if let body = request.body {
            sent.httpBody = Data(body)
            sent.setValue(request.contentType, forHTTPHeaderField: "Content-Type")
        }
        var answer: HTTPResponse?
        let came = DispatchSemaphore(value: 0)
        session.dataTask(with: sent) { data, response, _ in
            if let response = response as? HTTPURLResponse {
                let headers = response.allHeaderFields.map { (name: "\($0.key)", value: "\($0.value)") }
                answer = HTTPResponse(status: response.statusCode, headers: headers, body: data.map { [UInt8]($0) } ?? [])
            }
            came.signal()
        }.resume()
        came.wait()
        return answer
    }
}
