// Another process' engine: of the same machine, through memory that both map (`framewire serve
// --local`), or of another host (`framewire serve --remote-clients`).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <framewire/engine.hpp>
#include <framewire/export.hpp>
#include <framewire/image.hpp>
#include <framewire/options.hpp>
#include <framewire/resizer.hpp>
#include <framewire/status.hpp>
#include <framewire/transport.hpp>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire {

namespace client {
class ServerSession;
struct Retries;
}  // namespace client

/// What a client asks a server for. The server gives what it is allowed to, and no more.
struct ClientOptions {
  std::uint32_t slots = 256;  ///< requests not yet answered before submit() waits
  /// Memory for inputs, bytes: half of it for input_slice(), half for copies of inputs elsewhere.
  std::uint64_t input_bytes = std::uint64_t{160} << 20;
  /// Memory for outputs that are not taken, and for views that are kept; on the same machine each
  /// takes whole pages of 4 KiB.
  std::uint64_t output_bytes = std::uint64_t{64} << 20;
  std::chrono::milliseconds timeout{5000};  ///< to connect and to be greeted
  /// How often in a row a lost connection to a server is made anew, within `timeout` each time; a
  /// connection that brings an answer other than `busy` begins the count again. Requests that have
  /// no answer are then sent again, so that one may be done twice, and is answered once; each as
  /// often at most, after which its answer is peer_lost. Their inputs are kept until the answer. A
  /// server whose answers cannot be is not connected to again.
  std::uint32_t retries = 0;
};

/// A stream in the memory that client and server share, not copied.
struct ResizedView {
  std::span<const std::uint8_t> bytes;  ///< a complete JPEG stream; valid as long as `keeper` lives
  Report report;
  /// Gives the memory back to the server when its last copy goes. May outlive the client, whose
  /// place at the server it then keeps. Any number may be kept, whatever `slots` are, as long as
  /// ClientOptions::output_bytes have room in one piece for the next output; until then the server
  /// waits: an output for which there is no room is not answered, and nothing behind it either.
  /// Views of different sizes that go in any order leave room in pieces.
  std::shared_ptr<const void> keeper;
};

/// An engine in another process, with the functions of Engine. Answers are those of that engine,
/// field by field, save that texts of more than 1 KiB are cut.
///
/// On the same machine inputs and outputs lie in memory that both processes map. Inputs that lie
/// elsewhere are copied into it when they are submitted; outputs are copied out of it to the
/// request's sink, or to a vector. input_slice() and submit_view() spare those copies. To another
/// host inputs are copied into messages; a view is the memory that a message came in.
///
/// When the server ends, every unanswered request is answered once, with peer_lost, and so is what
/// is submitted later. A client does not connect again, unless ClientOptions::retries says so; make
/// another one.
///
/// Thread safety: all members may be called from any number of threads at once. Callbacks come from
/// one thread of the client's, or from the one that submits where a request gets no further: be
/// quick, never wait for the client.
class FRAMEWIRE_API Client {
 public:
  using Callback = Engine::Callback;
  using ViewCallback = std::function<void(Result<ResizedView>)>;

  /// Connects to a server. Blocks until it has greeted.
  /// @param path  of the server's socket, at most 107 bytes
  /// @return io_error where nobody can be reached there; denied, busy, unsupported as the server
  ///         says; invalid_input for options or memory that cannot be; deadline; peer_lost
  [[nodiscard]] static Result<Client> connect(const std::string& path,
                                              const ClientOptions& options = {});
  /// Connects to a server on another host. Blocks until it has greeted.
  /// @param address  "HOST:PORT"; no host means 127.0.0.1
  /// @param session  who we are, and the link: stream unless ucx-rdma is named. `capacity` and
  ///                 `timeout_ms` follow from the options
  /// @param options  at most 512 slots are given. `input_bytes` bounds the inputs that are
  ///                 unanswered, `output_bytes` one output, and those that arrive at a time
  /// @return errors of transport::connect(); busy where the server has no place; unsupported for
  ///         one of another version; invalid_input for options that cannot be
  [[nodiscard]] static Result<Client> connect(const std::string& address,
                                              const transport::SessionOptions& session,
                                              const ClientOptions& options = {});
  /// Waits until everything that was submitted has been answered, and what callbacks and `on_room`
  /// submit meanwhile, then disconnects.
  ~Client();
  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;

  /// Memory for one input. In the memory shared with a server on this machine: what is submitted
  /// from it is not copied. For another host, ordinary memory, as large as an input may be. Does
  /// not block. May outlive the client.
  /// @return exactly `bytes`; busy where there is no room now; too_large for more than half of
  ///         ClientOptions::input_bytes, as the server has granted them
  [[nodiscard]] Result<InputSlice> input_slice(std::size_t bytes);

  /// As Engine::submit(). Waits while as many requests as there are slots are unanswered, and where
  /// the input has to be copied, for room.
  /// @param jpeg  host; read before this returns where it is not of input_slice(), else it must
  ///              stay until the answer. The answer is too_large for more bytes than half of the
  ///              memory for inputs, or an output of more than the memory for outputs; else that of
  ///              the server's engine, or peer_lost
  void submit(std::span<const std::uint8_t> jpeg, const ResizeOptions& options, Callback done);
  [[nodiscard]] std::future<Result<Resized>> submit(std::span<const std::uint8_t> jpeg,
                                                    const ResizeOptions& options);
  /// Hands in several images; the server is woken once for those that find room together.
  void submit(std::span<EngineRequest> requests);
  /// As submit(), with an answer that is not copied.
  void submit_view(std::span<const std::uint8_t> jpeg, const ResizeOptions& options,
                   ViewCallback done);
  /// As Engine::try_submit(): hands in as many of several images, from the first on, as there are
  /// slots and room for. Never waits for room.
  [[nodiscard]] std::size_t try_submit(std::span<EngineRequest> requests,
                                       std::function<void()> on_room = {});
  /// @return busy where there is no room: `request` is unchanged
  [[nodiscard]] Result<void> try_submit(EngineRequest& request, std::function<void()> on_room = {});
  /// Hands in one image and waits for the answer.
  [[nodiscard]] Result<Resized> resize(std::span<const std::uint8_t> jpeg,
                                       const ResizeOptions& options);

  /// Waits until everything that was submitted before has been answered.
  void drain();

  /// Why there is no server any more; nothing while there is one.
  [[nodiscard]] std::optional<Status> lost() const;
  /// Whether the server has said that it ends soon: it answers new requests with `busy`.
  [[nodiscard]] bool draining() const noexcept;

 private:
  friend struct client::Retries;
  class FRAMEWIRE_LOCAL Impl;
  explicit Client(std::unique_ptr<Impl> impl);
  FRAMEWIRE_LOCAL [[nodiscard]] static Result<Client> begin(
      std::shared_ptr<client::ServerSession> session);
  std::unique_ptr<Impl> impl_;
};

}  // namespace framewire
