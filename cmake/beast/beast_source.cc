// Asio and Beast, compiled once for everybody who parses HTTP or waits on sockets (their *_SEPARATE_COMPILATION).
#include <boost/asio/impl/src.hpp>
#include <boost/beast/src.hpp>
