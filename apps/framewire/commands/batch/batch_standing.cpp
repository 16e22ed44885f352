#include <fmt/format.h>
#include <cmath>
#include <commands/batch/batch_standing.hpp>
#include <report/json.hpp>
#include <string_view>

namespace framewire::app {
namespace {

void add_metric(std::string& text, std::string_view name, std::string_view type,
                std::string_view help) {
  text += fmt::format("# HELP framewire_batch_{0} {2}\n# TYPE framewire_batch_{0} {1}\n", name,
                      type, help);
}

template <typename Number>
void add_value(std::string& text, std::string_view name, std::string_view labels, Number value) {
  text += fmt::format("framewire_batch_{}{} {}\n", name, labels, value);
}

template <typename Number>
void add_single(std::string& text, std::string_view name, std::string_view type,
                std::string_view help, Number value) {
  add_metric(text, name, type, help);
  add_value(text, name, "", value);
}

std::uint64_t unchanged(const BatchStanding& standing) {
  const std::uint64_t told = standing.ok + standing.progress.failed + standing.skipped;
  return standing.progress.handled > told ? standing.progress.handled - told : 0;
}

template <typename Number>
Json or_null(const std::optional<Number>& number) {
  return number ? Json(*number) : Json(nullptr);
}

}  // namespace

std::string metrics_text(const BatchStanding& standing, bool finished, double now_s) {
  const batch::Progress& progress = standing.progress;
  std::string text;
  add_metric(text, "inputs_total", "counter", "Inputs that were handled, by result.");
  add_value(text, "inputs_total", "{result=\"ok\"}", standing.ok);
  add_value(text, "inputs_total", "{result=\"failed\"}", progress.failed);
  add_value(text, "inputs_total", "{result=\"skipped\"}", standing.skipped);
  add_value(text, "inputs_total", "{result=\"unchanged\"}", unchanged(standing));
  add_metric(text, "failures_total", "counter", "Inputs that have failed, by class of error.");
  for (const auto& [name, count] : standing.errors) {
    add_value(text, "failures_total", fmt::format("{{class=\"{}\"}}", name), count);
  }
  if (progress.total) {
    add_single(text, "inputs_expected", "gauge", "Inputs that there are.", *progress.total);
  }
  add_single(text, "input_bytes_total", "counter", "Bytes of inputs that are ok.",
             standing.bytes_in);
  add_single(text, "output_bytes_total", "counter", "Bytes of outputs.", standing.bytes_out);
  if (standing.shards) {
    add_single(text, "shards_total", "counter", "Shards that are done with.",
               standing.shards->done);
    add_single(text, "shards_failed_total", "counter",
               "Of those: shards that could not be read or written.", standing.shards->failed);
    add_metric(text, "shard_failures_total", "counter",
               "Errors of shards and of their members besides pictures, by class.");
    for (const auto& [name, count] : standing.shards->errors) {
      add_value(text, "shard_failures_total", fmt::format("{{class=\"{}\"}}", name), count);
    }
    if (standing.shards->total) {
      add_single(text, "shards_expected", "gauge", "Shards that there are.",
                 *standing.shards->total);
    }
  }
  add_single(text, "seconds", "gauge", "Time since the batch began.", progress.seconds);
  add_single(text, "images_per_second", "gauge", "Inputs a second since then.",
             progress.images_per_second);
  add_single(text, "finished", "gauge", "1 once the batch has ended.", finished ? 1 : 0);
  add_single(text, "updated_timestamp_seconds", "gauge", "When this file was written.", now_s);
  return text;
}

std::string standing_json(const BatchStanding& standing, std::string_view event) {
  const auto rounded = [](double value) { return std::round(value * 1000) / 1000; };
  const batch::Progress& progress = standing.progress;
  Json json = {{"event", event},
               {"handled", progress.handled},
               {"total", or_null(progress.total)},
               {"ok", standing.ok},
               {"failed", progress.failed},
               {"skipped", standing.skipped},
               {"unchanged", unchanged(standing)},
               {"errors", standing.errors},
               {"bytes_in", standing.bytes_in},
               {"bytes_out", standing.bytes_out},
               {"seconds", rounded(progress.seconds)},
               {"images_per_second", rounded(progress.images_per_second)}};
  json["remaining_seconds"] =
      progress.remaining_seconds ? Json(rounded(*progress.remaining_seconds)) : Json(nullptr);
  json["shards_done"] = standing.shards ? Json(standing.shards->done) : Json(nullptr);
  json["shards_total"] = standing.shards ? or_null(standing.shards->total) : Json(nullptr);
  json["shards_failed"] = standing.shards ? Json(standing.shards->failed) : Json(nullptr);
  json["shard_errors"] = standing.shards ? Json(standing.shards->errors) : Json(nullptr);
  return text_of(json);
}

}  // namespace framewire::app
