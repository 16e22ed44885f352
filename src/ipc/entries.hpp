// Entries of the two rings: what a client asks for, and what became of it.
#pragma once

#include <cstdint>
#include <type_traits>

namespace framewire::ipc {

enum class RequestCommand : std::uint32_t {
  kRequest = 1,  ///< resize the input at `offset`
  kRelease = 2,  ///< the output at `offset` is not needed any more
  kCancel = 3,   ///< the answer to the slot's request is not wanted any more
};

/// An entry from the client. Which fields a command reads stands beside them; the others may hold
/// anything.
struct Submission {
  std::uint32_t command = 0;
  std::uint32_t slot = 0;           ///< request, cancel
  std::uint64_t offset = 0;         ///< request: in the input area; release: in the output area
  std::uint64_t bytes = 0;          ///< request
  std::uint32_t options_bytes = 0;  ///< request: of the slot's text
  std::uint32_t waited_ms = 0;      ///< request: EngineRequest::waited_ms, likewise
  std::uint64_t client = 0;  ///< request: EngineRequest::client, where the server asks whose it is
};

enum class AnswerKind : std::uint32_t {
  kResized = 1,  ///< the slot's report is of a resize, its stream lies in the output area
  kFailed = 2,   ///< the slot's report is an error
};

/// An entry from the server.
struct CompletionEntry {
  std::uint32_t slot = 0;
  std::uint32_t outcome = 0;
  std::uint64_t offset = 0;  ///< of the stream, in the output area
  std::uint64_t bytes = 0;
  std::uint32_t report_bytes = 0;
  std::uint32_t reserved = 0;
};

static_assert(sizeof(Submission) == 40 && sizeof(CompletionEntry) == 32);
static_assert(std::is_trivially_copyable_v<Submission> &&
              std::is_trivially_copyable_v<CompletionEntry>);

}  // namespace framewire::ipc
