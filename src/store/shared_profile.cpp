#include <fmt/format.h>
#include <array>
#include <store/environment.hpp>

namespace framewire::store {
namespace {

constexpr std::size_t kMaxSharedFileBytes = 1 << 20;

// What a profile can say besides its keys, and what the AWS tools would then do.
constexpr std::array<const char*, 6> kOtherWays = {"role_arn",          "source_profile",
                                                   "credential_source", "credential_process",
                                                   "sso_session",       "sso_start_url"};

// The sections of a shared file. The default place may have none; one that was named must.
Result<IniSections> load_sections(const char* variable, const char* below_home,
                                  const EnvironmentLookup& environment) {
  const auto named = environment(variable);
  const auto home = environment("HOME");
  if (!named && !home) return IniSections{};
  const std::string path = named ? *named : *home + below_home;
  auto text = read_small_file(path, kMaxSharedFileBytes);
  if (!text) return fail(std::move(text.error()));
  if (!*text) return IniSections{};
  auto sections = parse_ini(**text);
  if (!sections) {
    return fail(Status(sections.error().code(), sections.error().message()).about(path));
  }
  return sections;
}

}  // namespace

Result<SharedProfile> SharedProfile::load(const std::string& name,
                                          const EnvironmentLookup& environment) {
  auto config = load_sections("AWS_CONFIG_FILE", "/.aws/config", environment);
  if (!config) return fail(std::move(config.error()));
  auto keys = load_sections("AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials", environment);
  if (!keys) return fail(std::move(keys.error()));

  SharedProfile profile;
  const auto chosen = name.empty() ? environment("AWS_PROFILE") : std::optional(name);
  profile.name_ = chosen.value_or("default");
  bool found = false;
  const auto take = [&](const IniSections& sections, std::string_view section) {
    const auto at = sections.find(section);
    if (at == sections.end()) return;
    found = true;
    for (const auto& [key, value] : at->second) profile.values_.insert_or_assign(key, value);
  };
  if (profile.name_ == "default") take(*config, "default");
  take(*config, "profile " + profile.name_);
  take(*keys, profile.name_);
  if (chosen && !found) {
    return fail(Status(StatusCode::kInvalidInput,
                       "is a profile that the shared configuration and credentials files lack")
                    .about(printable(profile.name_)));
  }
  return profile;
}

std::optional<std::string> SharedProfile::value(std::string_view name) const {
  const auto found = values_.find(name);
  if (found == values_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Result<std::optional<S3Credentials>> SharedProfile::credentials() const {
  const auto id = value("aws_access_key_id");
  const auto secret = value("aws_secret_access_key");
  // A role's profile may hold its source's keys: they are not the role's.
  for (const char* const way : kOtherWays) {
    if (value(way) && (!id || std::string_view(way) == "role_arn")) {
      return fail(
          Status(StatusCode::kUnsupported,
                 fmt::format("gets its credentials by {}, which is not supported; accepted: "
                             "aws_access_key_id and aws_secret_access_key, or credentials "
                             "in the environment",
                             way))
              .about("profile " + printable(name_)));
    }
  }
  if (!id && !secret) return std::nullopt;
  if (!id || !secret) {
    return fail(Status(StatusCode::kDenied,
                       "has one of aws_access_key_id and "
                       "aws_secret_access_key without the other")
                    .about("profile " + printable(name_)));
  }
  return S3Credentials{*id, *secret, value("aws_session_token").value_or(""), std::nullopt};
}

}  // namespace framewire::store
