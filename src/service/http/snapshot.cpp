#include <fmt/format.h>
#include <sys/stat.h>
#include <algorithm>
#include <service/http/grammar_settings.hpp>
#include <service/http/options_json.hpp>
#include <service/http/snapshot.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace framewire::service::http {
namespace {

// Each may have threads and connections of its own.
constexpr std::size_t kMaxRetired = 8;

source::SourceSettings source_settings(const ServiceSettings& settings, PictureEngine& engine) {
  source::SourceSettings made = settings.source;
  made.max_bytes = static_cast<std::size_t>(settings.defaults.limits.max_input_bytes);
  made.max_bytes_under_way = static_cast<std::size_t>(settings.bytes_under_way);
  made.allocate = [&engine](std::size_t bytes) { return engine.input_slice(bytes); };
  return made;
}

// Whether a Sources made for the one does for the other.
bool same_sources(const ServiceSettings& left, const ServiceSettings& right) {
  constexpr std::string_view kGroup = "Originals";
  const auto rows = setting_rows();
  return left.defaults.limits.max_input_bytes == right.defaults.limits.max_input_bytes &&
         std::all_of(rows.begin(), rows.end(), [&](const SettingRow& row) {
           return row.option.group != kGroup || row.print(left) == row.print(right);
         });
}

// Which folder a name leads to; empty where it leads to none.
std::string folder_identity_of(const std::string& folder) {
  struct stat facts {};
  if (folder.empty() || ::stat(folder.c_str(), &facts) != 0) return {};
  return fmt::format("{}:{}", facts.st_dev, facts.st_ino);
}

// Presets of the file stand behind those of the setting.
std::span<const std::string> presets_of_file(const Snapshot& snapshot) {
  return std::span(snapshot.grammar.settings().presets)
      .subspan(snapshot.settings.url.presets.size());
}

bool same_fallback(const Snapshot& left, const Snapshot& right) {
  if (!left.fallback || !right.fallback) return !left.fallback && !right.fallback;
  return std::ranges::equal(left.fallback->bytes(), right.fallback->bytes());
}

}  // namespace

std::vector<std::string> changed_contents(const Snapshot& before, const Snapshot& after) {
  const ServiceSettings& old = before.settings;
  const ServiceSettings& now = after.settings;
  std::vector<std::string> names;
  if (old.source.root == now.source.root && before.folder_identity != after.folder_identity) {
    names.emplace_back("folder");
  }
  if (old.presets_file == now.presets_file &&
      !std::ranges::equal(presets_of_file(before), presets_of_file(after))) {
    names.emplace_back("presets-file");
  }
  if (old.fallback_image == now.fallback_image && !same_fallback(before, after)) {
    names.emplace_back("fallback-image");
  }
  return names;
}

Result<SnapshotRef> Snapshots::make(const ServiceSettings& settings) {
  (void)reap();
  const SnapshotRef before = current();
  {
    const std::lock_guard lock(mutex_);
    if (retired_.size() >= kMaxRetired) {
      return fail(StatusCode::kBusy, "requests of earlier settings are still under way");
    }
  }
  auto grammar = make_grammar(settings);
  if (!grammar) return fail(grammar.error());
  std::shared_ptr<source::Sources> sources;
  const bool wanted =
      settings.source.remote || settings.source.objects.on || !settings.source.root.empty();
  // Before it is opened: what changes meanwhile is found at the next reload. Where the name leads
  // nowhere, what it led to is kept.
  std::string folder = folder_identity_of(settings.source.root);
  if (before != nullptr && folder.empty()) folder = before->folder_identity;
  if (wanted && before != nullptr && same_sources(before->settings, settings) &&
      folder == before->folder_identity) {
    sources = before->sources;
  } else if (wanted) {
    source::SourceSettings from = source_settings(settings, engine_);
    auto made = network_ != nullptr ? source::Sources::make(std::move(from), *network_)
                                    : source::Sources::make(std::move(from));
    if (!made) return fail(made.error());
    sources = std::make_shared<source::Sources>(std::move(*made));
  }
  std::optional<FallbackImage> fallback;
  if (!settings.fallback_image.empty()) {
    auto opened = FallbackImage::open(settings, engine_);
    if (!opened) return fail(opened.error());
    fallback = std::move(*opened);
  }
  auto cache = disk_ != nullptr ? std::make_unique<AnswerCache>(settings, *disk_) : nullptr;
  return std::make_shared<const Snapshot>(
      Snapshot{next_generation_++, settings, std::move(*grammar), std::move(sources),
               std::move(fallback), std::move(cache), std::move(folder), options_json(settings)});
}

void Snapshots::publish(SnapshotRef snapshot) {
  const std::lock_guard lock(mutex_);
  if (current_ != nullptr) retired_.push_back(current_);
  current_ = std::move(snapshot);
}

SnapshotRef Snapshots::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

bool Snapshots::reap() noexcept {
  while (true) {
    SnapshotRef unused;  // ends without the lock
    const std::lock_guard lock(mutex_);
    // Nobody takes a new reference to what is no longer current.
    const auto found = std::find_if(retired_.begin(), retired_.end(),
                                    [](const SnapshotRef& one) { return one.use_count() == 1; });
    if (found == retired_.end()) return !retired_.empty();
    unused = std::move(*found);
    retired_.erase(found);
  }
}

void Snapshots::close() {
  const std::lock_guard lock(mutex_);
  retired_.push_back(std::exchange(current_, nullptr));
  for (const SnapshotRef& one : retired_) {
    if (one != nullptr && one->sources != nullptr) one->sources->close();
  }
}

SnapshotRef with_own_count(SnapshotRef snapshot) {
  const Snapshot* const place = snapshot.get();
  return SnapshotRef(place, [kept = std::move(snapshot)](const Snapshot*) {});
}

}  // namespace framewire::service::http
