#include <fmt/format.h>
#include <exception>
#include <framewire/output_sink.hpp>
#include <new>

namespace framewire {

Result<std::span<std::uint8_t>> OutputSink::room(std::size_t bytes) const {
  std::span<std::uint8_t> memory = memory_;
  if (allocate_) {
    const auto threw = [](const char* what) {
      return fail(
          Status(StatusCode::kInvalidInput, fmt::format("the sink threw: {}", what)).about("sink"));
    };
    try {
      memory = allocate_(bytes);
    } catch (const std::bad_alloc&) {
      return fail(
          Status(StatusCode::kBusy, fmt::format("the sink has no memory for {} bytes", bytes))
              .about("sink"));
    } catch (const std::exception& error) {
      return threw(error.what());
    } catch (...) {
      return threw("no std::exception");
    }
  }
  if (memory.size() < bytes) {
    return fail(Status(StatusCode::kTooLarge, fmt::format("the stream needs {} bytes; the sink has "
                                                          "room for {}",
                                                          bytes, memory.size()))
                    .about("sink"));
  }
  return memory.first(bytes);
}

}  // namespace framewire
