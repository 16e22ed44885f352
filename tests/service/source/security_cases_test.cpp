// Every line of the cases gets its decision.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <algorithm>
#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <tests/service/support/fake_network.hpp>
#include <tests/service/support/origin_server.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::source {
namespace {

using nlohmann::json;

// What other parts of the service decide.
const std::set<std::string> kDecoder = {"sec-0001", "sec-0121"};  // fetched, then undecodable

std::vector<json> cases() {
  std::ifstream file(FRAMEWIRE_DOCS "/../tests/service/cases/security.jsonl");
  std::vector<json> result;
  for (std::string line; std::getline(file, line);) result.push_back(json::parse(line));
  return result;
}

// The origin of one case: answers r.jpg, and so on, with the redirects in their order.
std::string answer(const json& input, std::atomic<std::size_t>& redirected) {
  const json redirects = input.value("redirects", json::array());
  if (const std::size_t at = redirected++; at < redirects.size()) {
    return test::status(redirects[at]["status"].get<int>(),
                        "Location: " + redirects[at]["location"].get<std::string>() + "\r\n");
  }
  const json response = input.value("response", json::object());
  if (response.value("body", "") == "empty") return test::ok("");
  if (response.value("body", "") == "endless") {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  }
  if (response.contains("content_length") && response["content_length"].is_number()) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + response["content_length"].dump() + "\r\n\r\n";
  }
  return test::ok("\xff\xd8 picture");
}

void serve(const json& input, std::atomic<std::size_t>& redirected, test::Connection& connection) {
  while (!connection.read_head().empty()) {
    const std::string head = answer(input, redirected);
    if (!connection.send(head)) return;
    if (head.find("chunked") == std::string::npos) continue;
    const std::string chunk = "10000\r\n" + std::string(65'536, 'x') + "\r\n";
    while (connection.open() && connection.send(chunk)) continue;
    return;
  }
}

SourceSettings settings_of(const json& config, const std::string& root,
                           const test::OriginServer& store) {
  SourceSettings settings;
  settings.remote = true;
  if (config.value("local_root", false)) settings.root = root;
  settings.max_redirects = config.value("max_redirects", 3U);
  settings.max_bytes = config.value("max_src_file_size", std::size_t{64} << 20);
  settings.allowed_sources = config.value("allowed_sources", std::vector<std::string>{});
  settings.addresses.allow_loopback = config.value("allow_loopback_source_addresses", false);
  settings.addresses.allow_link_local = config.value("allow_link_local_source_addresses", false);
  settings.addresses.allow_private = config.value("allow_private_source_addresses", false);
  settings.download_timeout = std::chrono::seconds(20);
  settings.objects.on = config.value("s3", false);
  settings.objects.allowed_buckets = config.value("s3_allowed_buckets", std::vector<std::string>{});
  settings.objects.denied_buckets = config.value("s3_denied_buckets", std::vector<std::string>{});
  settings.objects.store.endpoint = fmt::format("http://127.0.0.1:{}", store.port());
  return settings;
}

void name_hosts(const json& input, test::FakeNetwork& network) {
  const json names = input.value("dns", json::object());
  for (const auto& [host, answers] : names.items()) {
    if (answers[0].is_array()) {
      network.name(host, answers.get<std::vector<std::vector<std::string>>>());
    } else {
      network.name(host, {answers.get<std::vector<std::string>>()});
    }
  }
}

// http → https in a redirect: nothing here speaks TLS, so the address that was dialled decides.
bool reached(const Fetched<Original>& original, const test::FakeNetwork& network) {
  if (original) return true;
  return original.error().kind == FetchErrorKind::kTls && !network.dialled().empty();
}

void decide(const json& line) {
  const json& input = line["input"];
  const std::string id = line["id"];
  const json config = input.value("config", json::object());
  test::TemporaryFolder root;
  const json files = config.value("files", json::object());
  for (const auto& [name, kind] : files.items()) {
    root.write(name, "\xff\xd8 picture");
    if (kind != "named pipe") continue;
    std::filesystem::remove(root.path() / name);
    ASSERT_EQ(::mkfifo((root.path() / name).c_str(), 0600), 0);
  }
  std::atomic<std::size_t> redirected = 0;
  test::OriginServer server(
      [&](test::Connection& connection) { serve(input, redirected, connection); });
  test::FakeNetwork network(server.port());
  name_hosts(input, network);
  test::OriginServer store(
      test::answering([](const std::string&) { return test::ok("\xff\xd8 picture"); }));
  const SourceSettings settings = settings_of(config, root.path().string(), store);
  Network injected = network.network();
  injected.environment = test::store_keys();
  auto sources = Sources::make(settings, injected);
  ASSERT_TRUE(sources) << id << ' ' << sources.error().to_string();
  // The grammar decodes a target into the source; a missing one is that of the target.
  std::string source = input.contains("source") && input["source"].is_string()
                           ? input["source"].get<std::string>()
                           : "http://images.test/a.jpg?\r\nX-Evil: 1";
  source = config.value("base_url", "") + source;
  auto original = test::fetch(*sources, source);
  // A name whose answers change: the last is the attacker's.
  for (std::size_t i = 1;
       i < input.value("dns", json::object()).value("rebind.test", json()).size(); ++i) {
    original = test::fetch(*sources, source);
  }
  for (const IpAddress& address : network.dialled()) {
    EXPECT_TRUE(permits(settings.addresses, address)) << id << ' ' << to_string(address);
  }
  const std::string decision = line["expect"]["decision"];
  const bool allowed = decision == "allow" || kDecoder.contains(id);
  EXPECT_EQ(reached(original, network), allowed)
      << id << ' ' << source << ": "
      << (original
              ? original->url
              : std::string(to_string(original.error().kind)) + " " + original.error().message);
  const bool of_store = source.starts_with("s3:");
  EXPECT_EQ(store.connections(), of_store && allowed ? 1 : 0) << id;
  if (!allowed && line["expect"].value("reason", "") == "too_large") {
    EXPECT_EQ(original.error().kind, FetchErrorKind::kTooLarge) << id;
  }
}

TEST(SecurityCasesAttack, EveryLineGetsItsDecision) {
  const std::vector<json> all = cases();
  ASSERT_EQ(all.size(), 109U);
  for (const json& line : all) decide(line);
}

}  // namespace
}  // namespace framewire::service::source
