// What an answer's head says of how its picture was made.
#pragma once

#include <cstdint>
#include <framewire/image.hpp>
#include <service/http/response.hpp>
#include <vector>

namespace framewire::service::http {

/// X-Framewire-Codec, its reason, and X-Framewire-Warnings where there are any, each kind once.
void add_report_fields(Response& response, const Report& report);

/// What is not work on the picture: queues, the engine's included.
[[nodiscard]] double queue_ms(double elapsed_ms, const StageTimes& times) noexcept;

/// The kinds of warnings as bits, for the cache on disk.
[[nodiscard]] std::uint64_t warning_bits(const std::vector<Warning>& warnings) noexcept;
/// A warning without its message for each bit.
[[nodiscard]] std::vector<Warning> warnings_of_bits(std::uint64_t bits);
/// Whether each bit is a kind's.
[[nodiscard]] bool are_warning_bits(std::uint64_t bits) noexcept;

}  // namespace framewire::service::http
