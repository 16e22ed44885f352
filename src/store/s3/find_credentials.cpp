#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <base/ascii.hpp>
#include <nlohmann/json.hpp>
#include <store/s3/find_credentials.hpp>
#include <store/s3/small_fetch.hpp>
#include <store/xml_answers.hpp>

namespace framewire::store::s3 {
namespace {

constexpr std::size_t kMaxTokenFileBytes = 64 * 1'024;

tl::unexpected<Status> no_credentials(std::string_view source, std::string_view why) {
  return fail(StatusCode::kDenied, fmt::format("no credentials by {}: {}", source, why));
}

// One line of a file that holds a token: what may stand in a header or a form.
Result<std::string> read_token(const std::string& path) {
  auto text = read_small_file(path, kMaxTokenFileBytes);
  if (!text) return fail(std::move(text.error()));
  const std::string_view token = *text ? base::trim_white(**text) : std::string_view();
  const bool plain =
      std::all_of(token.begin(), token.end(), [](char c) { return c >= ' ' && c < 0x7f; });
  if (token.empty() || !plain) {
    return fail(Status(StatusCode::kDenied, "is no file with a token of one line").about(path));
  }
  return std::string(token);
}

// What containers and instances answer: {"AccessKeyId": …, "Expiration": …}.
Result<S3Credentials> parse_credentials_json(const std::string& text, std::string_view source) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto member = [&](const char* name) {
    const auto found = json.is_object() ? json.find(name) : json.end();
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  S3Credentials made{member("AccessKeyId"), member("SecretAccessKey"), member("Token"),
                     parse_iso_time(member("Expiration"))};
  if (made.access_key_id.empty() || made.secret_access_key.empty() ||
      (!made.expires && !member("Expiration").empty())) {
    const std::string code = printable(member("Code"), 60);
    return no_credentials(source, code.empty() || code == "Success"
                                      ? "the answer has no keys"
                                      : fmt::format("the answer is {}", code));
  }
  return made;
}

Result<S3Credentials> fetch_credentials_json(const SmallFetch& fetch, std::string_view source) {
  auto answer = fetch_small(fetch);
  if (!answer) return fail(std::move(answer.error()));
  if (answer->status != 200) {
    return no_credentials(source, fmt::format("it answered {}", answer->status));
  }
  return parse_credentials_json(answer->body, source);
}

// Tries a second time what the network did to the first.
Result<SmallAnswer> fetch_twice(const SmallFetch& fetch) {
  auto answer = fetch_small(fetch);
  if (answer && answer->status < 500) return answer;
  return fetch_small(fetch);
}

Result<S3Credentials> assume_role(const EnvironmentLookup& environment, const std::string& region) {
  constexpr std::string_view kSource = "web identity";
  auto token = read_token(environment("AWS_WEB_IDENTITY_TOKEN_FILE").value_or(""));
  if (!token) return fail(std::move(token.error()));
  SmallFetch fetch;
  fetch.method = "POST";
  fetch.proxy = true;
  fetch.connect = std::chrono::seconds(10);
  fetch.total = std::chrono::seconds(30);
  auto endpoint = environment("AWS_ENDPOINT_URL_STS");
  if (!endpoint) endpoint = environment("AWS_ENDPOINT_URL");
  fetch.url = endpoint.value_or(fmt::format("https://sts.{}.amazonaws.com{}", region,
                                            region.starts_with("cn-") ? ".cn" : ""));
  while (fetch.url.ends_with('/')) fetch.url.pop_back();
  fetch.url += '/';
  fetch.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  fetch.body = canonical_query(
      {{"Action", "AssumeRoleWithWebIdentity"},
       {"Version", "2011-06-15"},
       {"RoleArn", environment("AWS_ROLE_ARN").value_or("")},
       {"RoleSessionName", environment("AWS_ROLE_SESSION_NAME").value_or("framewire")},
       {"WebIdentityToken", *token}});
  auto answer = fetch_twice(fetch);
  if (!answer) return fail(std::move(answer.error()));
  if (answer->status != 200) {
    const auto error = parse_service_error(answer->body).value_or(ServiceError{});
    return no_credentials(kSource, fmt::format("the service answered {} {} {}", answer->status,
                                               error.code, error.message));
  }
  return parse_assumed_role(answer->body);
}

// A token goes over plain HTTP to this machine, and to the addresses of ECS and EKS, alone.
bool may_have_token(const std::string& url) {
  if (url.starts_with("https://")) return true;
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return false;
  const std::string_view rest = std::string_view(url).substr(kScheme.size());
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != std::string_view::npos) return false;
  const std::size_t host_end =
      authority.starts_with('[') ? authority.find(']') + 1 : authority.find(':');
  const std::string_view host = authority.substr(0, host_end);
  constexpr std::array<std::string_view, 6> kHosts = {
      "localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
  return std::find(kHosts.begin(), kHosts.end(), host) != kHosts.end();
}

Result<S3Credentials> ask_container(const EnvironmentLookup& environment) {
  constexpr std::string_view kSource = "the container's metadata";
  SmallFetch fetch;
  if (const auto path = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")) {
    if (!path->starts_with('/')) {
      return no_credentials(kSource,
                            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with /");
    }
    fetch.url = "http://169.254.170.2" + *path;
  } else {
    fetch.url = environment("AWS_CONTAINER_CREDENTIALS_FULL_URI").value_or("");
  }
  if (!may_have_token(fetch.url)) {
    return no_credentials(kSource,
                          "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https:// nor on a "
                          "loopback address or one of ECS and EKS");
  }
  if (const auto file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")) {
    auto token = read_token(*file);
    if (!token) return fail(std::move(token.error()));
    fetch.headers = {{"Authorization", *token}};
  } else if (const auto token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN")) {
    if (token->find_first_of("\r\n") != std::string::npos) {
      return no_credentials(kSource, "AWS_CONTAINER_AUTHORIZATION_TOKEN has more than one line");
    }
    fetch.headers = {{"Authorization", *token}};
  }
  return fetch_credentials_json(fetch, kSource);
}

// @return nothing where no metadata service answers, as on any machine that is no instance
Result<std::optional<S3Credentials>> ask_instance(const EnvironmentLookup& environment) {
  constexpr std::string_view kSource = "the instance's metadata";
  SmallFetch fetch;
  std::string base =
      environment("AWS_EC2_METADATA_SERVICE_ENDPOINT").value_or("http://169.254.169.254");
  while (base.ends_with('/')) base.pop_back();
  fetch.method = "PUT";
  fetch.url = base + "/latest/api/token";
  fetch.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  fetch.total = std::chrono::seconds(2);
  const auto token = fetch_twice(fetch);
  if (!token || token->status != 200) return std::nullopt;
  const std::string_view secret = base::trim_white(token->body);
  if (secret.empty() || secret.find_first_of("\r\n") != std::string_view::npos) return std::nullopt;

  fetch.method = "GET";
  fetch.headers = {{"x-aws-ec2-metadata-token", std::string(secret)}};
  fetch.url = base + "/latest/meta-data/iam/security-credentials/";
  const auto roles = fetch_twice(fetch);
  if (!roles || roles->status != 200) return std::nullopt;  // an instance without a role
  const std::string_view role =
      base::trim_white(std::string_view(roles->body).substr(0, roles->body.find('\n')));
  if (role.empty()) return std::nullopt;
  fetch.url += percent_encode(role);
  auto found = fetch_credentials_json(fetch, kSource);
  if (!found) return fail(std::move(found.error()));
  return *std::move(found);
}

Result<S3Credentials> renew_from_instance(const EnvironmentLookup& environment) {
  auto found = ask_instance(environment);
  if (!found) return fail(std::move(found.error()));
  if (!*found) return no_credentials("the instance's metadata", "it does not answer any more");
  return **std::move(found);
}

Result<FoundCredentials> with_renewal(RenewCredentials renew) {
  auto first = renew();
  if (!first) return fail(std::move(first.error()));
  return FoundCredentials{*std::move(first), std::move(renew)};
}

}  // namespace

Result<FoundCredentials> find_credentials(const StoreSettings& settings,
                                          const SharedProfile& profile, const std::string& region,
                                          const EnvironmentLookup& environment) {
  if (settings.profile.empty()) {
    auto found = environment_credentials(environment);
    if (!found) return fail(std::move(found.error()));
    if (*found) return FoundCredentials{**std::move(found), {}};
    if (environment("AWS_WEB_IDENTITY_TOKEN_FILE") && environment("AWS_ROLE_ARN")) {
      return with_renewal([=] { return assume_role(environment, region); });
    }
  }
  auto stored = profile.credentials();
  if (!stored) return fail(std::move(stored.error()));
  if (*stored) return FoundCredentials{**std::move(stored), {}};
  if (settings.profile.empty() && (environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") ||
                                   environment("AWS_CONTAINER_CREDENTIALS_FULL_URI"))) {
    return with_renewal([=] { return ask_container(environment); });
  }
  const auto disabled = environment("AWS_EC2_METADATA_DISABLED");
  if (settings.profile.empty() && !(disabled && base::equals_ignoring_case(*disabled, "true"))) {
    auto found = ask_instance(environment);
    if (!found) return fail(std::move(found.error()));
    if (*found) {
      return FoundCredentials{**std::move(found), [=] { return renew_from_instance(environment); }};
    }
  }
  return fail(StatusCode::kDenied,
              "there are no credentials: not in the environment (AWS_ACCESS_KEY_ID and "
              "AWS_SECRET_ACCESS_KEY), a shared file (~/.aws/credentials), nor by web identity, a "
              "container's or an instance's metadata");
}

}  // namespace framewire::store::s3
