// An HTTP server that answers as a test says: well, wrongly, slowly, or not to the end.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace framewire::test {

/// A request as it came.
struct Asked {
  std::string method;
  std::string target;                          ///< "/bucket/key?query"
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
};

/// What the server does with it.
struct Scripted {
  std::string head;  ///< "HTTP/1.1 200 OK\r\n…", with the empty line behind it
  std::string body;
  std::size_t cut_after = SIZE_MAX;  ///< bytes of the body; then the connection is closed
  bool repeat_for_ever = false;      ///< the body, until the client hangs up
  unsigned stall_ms = 0;             ///< before anything is sent; ends with the server
  bool hang_up = false;              ///< when all is sent
  std::string late = {};             ///< sent behind the body, once send_late() is called
};

/// An answer with its length.
[[nodiscard]] Scripted reply(unsigned status, const std::string& body = {},
                             const std::vector<std::string>& headers = {});
/// The bytes that a request's Range asks for, of an object with ETag "e".
[[nodiscard]] Scripted reply_range(const Asked& asked, const std::string& object);

/// Listens on a port of 127.0.0.1; one thread a connection.
class ScriptedServer {
 public:
  /// @param script  called by several threads at once
  explicit ScriptedServer(std::function<Scripted(const Asked&)> script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  [[nodiscard]] unsigned requests() const { return requests_.load(); }
  [[nodiscard]] unsigned connections() const { return connections_.load(); }
  /// Lets what is late be sent, and waits until the other end has it.
  void send_late();

 private:
  void accept_all();
  void serve(int fd);
  [[nodiscard]] bool send_all(int fd, std::string_view bytes) const;
  [[nodiscard]] bool answer(int fd, const Scripted& scripted) const;

  std::function<Scripted(const Asked&)> script_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> ending_ = false;
  mutable std::atomic<int> late_wanted_ = 0;
  mutable std::atomic<int> late_sent_ = 0;
  std::atomic<unsigned> requests_ = 0;
  std::atomic<unsigned> connections_ = 0;
  std::mutex mutex_;
  std::vector<std::thread> threads_;  ///< under mutex_
  std::thread acceptor_;
};

}  // namespace framewire::test
