// Settings from file, environment and flags; the table in the pages.
#include <gtest/gtest.h>
#include <algorithm>
#include <fstream>
#include <iterator>
#include <service/http/configuration.hpp>
#include <service/http/endpoint.hpp>
#include <service/http/server.hpp>

namespace framewire::service::http {
namespace {

std::string error_of(const Result<GivenSettings>& given) {
  return given ? "" : given.error().to_string();
}

TEST(HttpConfiguration, FlagsGoBeforeEnvironmentBeforeFileBeforeDefaults) {
  const auto file = read_toml("queue = 1\nttl = 1\nthreads = 1\nquality = 51\n", "a.toml");
  ASSERT_TRUE(file) << error_of(file);
  const char* environment[] = {"FRAMEWIRE_QUEUE=2", "FRAMEWIRE_TTL=2",
                               "FRAMEWIRE_THREADS=", "FRAMEWIRE_NONSENSE=1", nullptr};
  const auto made = configure(*file, read_environment(environment), {{"queue", {"3", "flag"}}});
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->settings.queue, 3u);
  EXPECT_EQ(made->settings.ttl_s, 2u);
  EXPECT_EQ(made->settings.threads, 1u) << "an empty variable is as unset";
  EXPECT_EQ(made->settings.defaults.quality, 51);
  EXPECT_EQ(made->settings.max_connections, ServiceSettings{}.max_connections);
  const std::string text = made->to_string();
  EXPECT_NE(text.find("queue = 3  # flag\n"), std::string::npos) << text;
  EXPECT_NE(text.find("ttl = 2  # environment, FRAMEWIRE_TTL\n"), std::string::npos) << text;
  EXPECT_NE(text.find("threads = 1  # file, a.toml:3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("max-connections = 4096  # default\n"), std::string::npos) << text;
}

TEST(HttpConfiguration, FilesHaveEveryKindOfValue) {
  const auto file = read_toml(
      "listen = [\"127.0.0.1:1\", \"unix:/run/a\"]\nremote = true\nfolder = \"/srv\"\n"
      "dpr = 1.5\nmax-header-bytes = \"64k\"\n",
      "a.toml");
  ASSERT_TRUE(file) << error_of(file);
  const auto made = configure(*file, {}, {});
  ASSERT_TRUE(made) << made.error().to_string();
  EXPECT_EQ(made->settings.listen.size(), 2u);
  EXPECT_TRUE(made->settings.source.remote);
  EXPECT_EQ(made->settings.source.root, "/srv");
  EXPECT_EQ(made->settings.defaults.dpr, 1.5);
  EXPECT_EQ(made->settings.max_header_bytes, 65536u);
}

TEST(HttpConfiguration, ModesAreOctalInEveryNotation) {
  for (const char* value : {"660", "\"660\"", "\"0660\"", "0o660", "0x1b0", "0b110110000"}) {
    const auto file = read_toml(std::string("local = \"/a\"\nlocal-mode = ") + value, "a.toml");
    ASSERT_TRUE(file) << value << error_of(file);
    const auto made = configure(*file, {}, {});
    ASSERT_TRUE(made) << value << made.error().to_string();
    EXPECT_EQ(made->settings.local.mode, 0660u) << value;
  }
  for (const char* value : {"0o1777", "680", "-1", "0x7FFFFFFFFFFFFFFF"}) {
    const auto file = read_toml(std::string("local = \"/a\"\nlocal-mode = ") + value, "a.toml");
    ASSERT_TRUE(file) << value;
    EXPECT_FALSE(configure(*file, {}, {})) << value;
  }
  const auto file = read_toml("queue = 0o20\n", "a.toml");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->at("queue").value, "16");
}

TEST(HttpConfiguration, WholeNumbersHaveNoPoint) {
  const auto made = [](const std::string& line) {
    const auto file = read_toml(line, "a.toml");
    return configure(file.value(), {}, {});
  };
  for (const char* line : {"quality = 75.0", "queue = 1e3", "ttl = -0.0", "threads = 2.5"}) {
    const auto refused = made(line);
    ASSERT_FALSE(refused) << line;
    EXPECT_NE(refused.error().message().find("accepted: a"), std::string::npos) << line;
    EXPECT_NE(refused.error().message().find("a.toml:1"), std::string::npos) << line;
  }
  EXPECT_NE(made("quality = 75.0").error().message().find("found '75.0'"), std::string::npos);
  EXPECT_EQ(made("dpr = 2.0").value().settings.defaults.dpr, 2);
  EXPECT_EQ(made("dpr = 2").value().settings.defaults.dpr, 2);
}

TEST(HttpConfiguration, MistakesAreNamedWithTheirLine) {
  EXPECT_NE(error_of(read_toml("queue = 1\nqeue = 2\n", "a.toml")).find("a.toml:2"),
            std::string::npos);
  EXPECT_NE(error_of(read_toml("allowed_sources = []\n", "a.toml"))
                .find("there is no setting allowed_sources; accepted: allowed-sources"),
            std::string::npos);
  EXPECT_EQ(error_of(read_toml("a_b = 1\n", "a.toml")).find("accepted"), std::string::npos);
  EXPECT_NE(error_of(read_toml("\n\n[server]\nqueue = 1\n", "a.toml")).find("a.toml:3"),
            std::string::npos);
  EXPECT_NE(error_of(read_toml("queue = \n", "a.toml")).find("a.toml:1"), std::string::npos);
  EXPECT_NE(error_of(read_toml("queue = 1\nqueue = 2\n", "a.toml")).find("a.toml:2"),
            std::string::npos);
  EXPECT_NE(error_of(read_toml("listen = [1]\n", "a.toml")).find("a.toml:1"), std::string::npos);
  const auto file = read_toml("\nqueue = 1000001\n", "a.toml");
  ASSERT_TRUE(file);
  const auto made = configure(*file, {}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().subject(), "queue");
  EXPECT_NE(made.error().message().find("a.toml:2"), std::string::npos);
}

TEST(HttpConfiguration, AQueueThatNobodyGivesIsChosen) {
  ServiceSettings settings;
  EXPECT_EQ(most_requests(settings, false), 256u);
  EXPECT_EQ(most_requests(settings, true), 1024u);
  settings.queue = 7;
  EXPECT_EQ(most_requests(settings, false), 7u);
  EXPECT_EQ(most_requests(settings, true), 7u);
}

TEST(HttpConfiguration, SecretsAreNotShown) {
  const auto made = configure({}, {}, {{"secret", {"hush", "flag"}}, {"keys", {"abcd", "flag"}}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->to_string().find("hush"), std::string::npos);
  EXPECT_EQ(made->to_string().find("abcd"), std::string::npos);
  const auto wrong = configure({}, {}, {{"secret", {"hu\nsh", "flag"}}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().to_string().find("sh\n"), std::string::npos);
}

TEST(HttpConfiguration, EmptySecretsAreRefusedWhereverTheyStand) {
  const auto message = [](const Result<Configuration>& made) {
    return made ? std::string("accepted") : made.error().to_string();
  };
  for (const char* line :
       {"secret = \"\"", "secret = \"  \"", "keys = [\"\"]", "keys = [\"aa\", \"\"]",
        "salts = [\"\"]", "salts = \"aa,,bb\"", "trusted-signatures = [\"\"]",
        "keys = [\"\", \"aa\"]", "trusted-signatures = [\"\", \"\", \"x\"]"}) {
    const auto file = read_toml(line, "a.toml");
    ASSERT_TRUE(file) << line;
    const std::string told = message(configure(*file, {}, {}));
    EXPECT_NE(told.find("an empty text"), std::string::npos) << line << ": " << told;
    EXPECT_NE(told.find("a.toml:1"), std::string::npos) << line << ": " << told;
  }
  for (const char* name : {"secret", "keys", "salts"}) {
    EXPECT_NE(message(configure({}, {}, {{name, {"", "flag"}}})).find("accepted: "),
              std::string::npos)
        << name;
  }
  const char* environment[] = {"FRAMEWIRE_SECRET=", nullptr};
  EXPECT_NE(message(configure({}, read_environment(environment), {})).find("FRAMEWIRE_SECRET"),
            std::string::npos);
  EXPECT_TRUE(configure({}, {}, {{"secret", {"a,,b", "flag"}}})) << "commas are its own";
}

TEST(HttpConfiguration, SecretsInFilesAreTextsInQuotes) {
  for (const char* line : {"secret = 1_000", "secret = 0x10", "secret = 1e3", "secret = 1.50",
                           "secret = true", "keys = 11", "salts = [22]"}) {
    const auto file = read_toml(line, "a.toml");
    ASSERT_FALSE(file) << line;
    EXPECT_NE(file.error().to_string().find("in quotes"), std::string::npos) << line;
  }
  EXPECT_TRUE(read_toml("quality = 80\nsecret = \"1_000\"", "a.toml"));
}

TEST(HttpConfiguration, AListThatNamesNothingAllowsNotAll) {
  for (const char* line :
       {"allowed-sources = []", "allowed-sources = \"\"", "allowed-sources = [\"\", \"\"]",
        "allowed-options = []", "s3-allowed-buckets = [\" \"]", "local-uids = []"}) {
    const auto file = read_toml(line, "a.toml");
    ASSERT_TRUE(file) << line;
    const auto made = configure(*file, {}, {});
    ASSERT_FALSE(made) << line;
    EXPECT_NE(made.error().to_string().find("found"), std::string::npos) << line;
  }
  EXPECT_FALSE(configure({}, {}, {{"allowed-sources", {"", "flag"}}}));
  const char* environment[] = {"FRAMEWIRE_ALLOWED_SOURCES=", nullptr};
  EXPECT_TRUE(configure({}, read_environment(environment), {})) << "as unset";
}

TEST(HttpConfiguration, EverySettingReadsBackWhatItPrints) {
  for (const SettingRow& row : setting_rows()) {
    const std::string text = row.default_text();
    ServiceSettings settings;
    if (text.empty()) continue;  // of texts and lists: nothing
    EXPECT_TRUE(row.parse(settings, text)) << row.option.name << " = " << text;
    EXPECT_EQ(row.print(settings), text) << row.option.name;
  }
}

// A value that looks as what is accepted is refused for its size, so the message says which.
TEST(HttpConfiguration, RefusalsNameTheLeastAndTheMost) {
  struct Case {
    const char* name;
    const char* least;
    const char* below;
    const char* range;
  };
  for (const Case& one : {Case{"cache-size", "1M", "500k", "from 1M and below 2^64"},
                          Case{"max-header-bytes", "1k", "100", "from 1k to 1G"},
                          Case{"max-header-bytes", "1G", "2G", "from 1k to 1G"},
                          Case{"max-target-bytes", "1k", "1023", "from 1k to 1G"},
                          Case{"bytes-under-way", "1k", "1023", "from 1k and below 2^64"},
                          Case{"bytes-under-way", "1G", "99999999999G", "from 1k and below 2^64"},
                          Case{"worker-memory", "0", "1", "0, or a number of bytes from 1k"},
                          Case{"gpu-memory", "1k", "1", "0, or a number of bytes from 1k"},
                          Case{"pixels-under-way", "1", "0", "from 1 and below 2^64"}}) {
    ServiceSettings settings;
    EXPECT_TRUE(set_setting(settings, one.name, one.least)) << one.name;
    const auto refused = set_setting(settings, one.name, one.below);
    ASSERT_FALSE(refused) << one.name;
    EXPECT_NE(refused.error().message().find(one.range), std::string::npos)
        << refused.error().message();
  }
}

TEST(HttpConfiguration, NamesAreThoseOfNoOtherSetting) {
  std::vector<std::string_view> names;
  for (const SettingRow& row : setting_rows()) names.push_back(row.option.name);
  for (const OptionSpec& spec : option_specs()) names.push_back(spec.name);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(HttpConfiguration, BoundsThatContradictAreRefused) {
  ServiceSettings settings;
  settings.max_target_bytes = settings.max_header_bytes + 1;
  EXPECT_FALSE(validate(settings));
  settings = {};
  settings.bytes_under_way = settings.defaults.limits.max_input_bytes - 1;
  EXPECT_FALSE(validate(settings));
  EXPECT_TRUE(validate(ServiceSettings{}));
  // Two listeners of one address would each get some of the connections.
  for (const char* place : {"127.0.0.1:8080", ":8080", "unix:/run/a"}) {
    settings = {};
    settings.listen = {"127.0.0.1:8080", "unix:/run/a"};
    settings.metrics = {":9090", place};
    EXPECT_FALSE(validate(settings)) << place;
  }
  settings.listen = settings.metrics = {":0"};
  EXPECT_TRUE(validate(settings)) << "two ports of the system's choice";
  for (const char* place : {"127.0.0.1:8080", "unix:/run/a"}) {
    settings = {};
    settings.listen = {place, "127.0.0.1:8081", place};
    EXPECT_FALSE(validate(settings)) << place;
    settings.listen = {":8082", ":0", "[::1]:8082", ":0"};
    EXPECT_TRUE(validate(settings));
    settings.metrics = {place, place};
    EXPECT_FALSE(validate(settings)) << place;
  }
}

TEST(HttpConfiguration, DevicesAndClientsAreSettingsToo) {
  const auto file = read_toml(R"(
device = "0,2"
gpu-memory = "8G"
warm = "3G"
mps = "attach"
mps-threads = 50
mps-memory = "1G"
local = "/run/framewire/local.sock"
local-mode = "600"
local-uids = "1000,33"
remote-clients = "10.0.0.2:7100"
remote-psk = "keys.txt"
remote-link = "ucx-rdma"
remote-interface = "mlx5_0:1"
)",
                              "framewire.toml");
  ASSERT_TRUE(file) << file.error().to_string();
  const auto made = configure(*file, {{"remote-allow", {"studio,lab", "environment"}}}, {});
  ASSERT_TRUE(made) << made.error().to_string();
  const ServiceSettings& settings = made->settings;
  EXPECT_EQ(settings.devices, (std::vector<int>{0, 2}));
  EXPECT_EQ(settings.mps.mode, MpsMode::kAttach);
  EXPECT_EQ(settings.mps.threads_percent, 50u);
  EXPECT_EQ(settings.mps.memory_bytes, 1u << 30);
  EXPECT_EQ(settings.local.path, "/run/framewire/local.sock");
  EXPECT_EQ(settings.local.mode, 0600u);
  EXPECT_EQ(settings.local.uids, (std::vector<unsigned>{1000, 33}));
  EXPECT_EQ(settings.remote_clients.address, "10.0.0.2:7100");
  EXPECT_EQ(settings.remote_clients.allowed, (std::vector<std::string>{"studio", "lab"}));
  EXPECT_EQ(settings.remote_clients.link, "ucx-rdma");
  const EngineOptions engine = engine_options(settings);
  EXPECT_EQ(engine.devices, settings.devices);
  EXPECT_EQ(engine.gpu_memory_bytes, std::uint64_t{8} << 30);
  EXPECT_EQ(engine.warm_bytes, std::uint64_t{3} << 30);
}

TEST(HttpConfiguration, EnginesAreWarmUnlessToldOtherwise) {
  const std::uint64_t chosen = engine_options({}).warm_bytes;
  EXPECT_EQ(chosen, std::uint64_t{2} << 30);
  for (const auto& [text, bytes] :
       {std::pair("auto", chosen), std::pair("0", std::uint64_t{0}),
        std::pair("1k", std::uint64_t{1024}), std::pair("5G", std::uint64_t{5} << 30)}) {
    const auto made = configure({}, {{"warm", {text, "command line"}}}, {});
    ASSERT_TRUE(made) << made.error().to_string();
    EXPECT_EQ(engine_options(made->settings).warm_bytes, bytes) << text;
  }
  const auto none = configure({}, {{"warm", {"cold", "command line"}}}, {});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().to_string().find("auto, 0, or"), std::string::npos)
      << none.error().to_string();
}

TEST(HttpConfiguration, WhatHasNothingToSayIsRefused) {
  const std::vector<std::pair<std::vector<std::pair<const char*, const char*>>, const char*>>
      cases = {{{{"local-mode", "600"}}, "local-mode"},
               {{{"local-uids", "0"}}, "local-uids"},
               {{{"remote-clients", ":7100"}}, "remote-clients"},
               {{{"remote-psk", "keys"}}, "remote-psk"},
               {{{"remote-allow", "a"}}, "remote-allow"},
               {{{"remote-link", "ucx-rdma"}}, "remote-link"},
               {{{"remote-interface", "mlx5_0:1"}}, "remote-interface"},
               {{{"mps-program", "/bin/true"}}, "mps-program"},
               {{{"mps-threads", "50"}}, "mps-threads"},
               {{{"mps", "on"}, {"mps-memory", "1G"}}, "mps-memory"},
               {{{"codec", "turbo"}, {"device", "0"}}, "device"},
               {{{"codec", "reference"}, {"gpu-memory", "1G"}}, "gpu-memory"},
               {{{"codec", "turbo"}, {"warm", "1G"}}, "warm"},
               {{{"codec", "turbo"}, {"mps", "attach"}}, "mps"}};
  for (const auto& [given, about] : cases) {
    ServiceSettings settings;
    for (const auto& [name, value] : given) ASSERT_TRUE(set_setting(settings, name, value)) << name;
    const auto valid = validate(settings);
    ASSERT_FALSE(valid) << about;
    EXPECT_EQ(valid.error().subject(), about);
  }
  ServiceSettings settings;
  for (const auto& [name, bad] :
       std::initializer_list<std::pair<const char*, std::vector<const char*>>>{
           {"device", {"", "a", "-1", "0,", ",0", "0,,1", "99999999999"}},
           {"gpu-memory", {"", "-1", "1T", "x"}},
           {"mps", {"", "maybe"}},
           {"mps-threads", {"101", "-1", ""}},
           {"local-mode", {"", "8", "1000", "07777", "rw"}},
           {"local-uids", {"root", "-1", "1,", "4294967295"}},
           {"remote-link", {"", "tcp"}}}) {
    for (const char* text : bad) EXPECT_FALSE(set_setting(settings, name, text)) << name << text;
  }
}

TEST(HttpConfiguration, MetricsHaveAPlaceOrAWord) {
  ServiceSettings settings;
  for (const char* good : {"", "none", "main", ":9090", "main,:9090", "unix:/run/m,0.0.0.0:1"}) {
    EXPECT_TRUE(set_setting(settings, "metrics", good)) << good;
  }
  for (const char* bad : {"all", "none,main", "none,:9090", "localhost:9090", "main,9090"}) {
    EXPECT_FALSE(set_setting(settings, "metrics", bad)) << bad;
  }
}

TEST(HttpConfiguration, ThePageShowsTheTable) {
  std::ifstream file(FRAMEWIRE_DOCS "/options.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(page.find(settings_as_markdown()), std::string::npos)
      << "docs/options.md is to have this table:\n"
      << settings_as_markdown();
}

TEST(HttpEndpoint, HasAnAddressOrAPath) {
  EXPECT_EQ(parse_endpoint(":80")->address, "127.0.0.1");
  EXPECT_EQ(parse_endpoint("0.0.0.0:80")->port, 80);
  EXPECT_EQ(parse_endpoint("[::1]:80")->address, "::1");
  EXPECT_EQ(parse_endpoint("unix:/run/a")->unix_path, "/run/a");
  for (const char* text : {"", "80", "a:80", "localhost:80", "1.2.3.4", "1.2.3.4:65536", "::1:80",
                           "[1.2.3.4]:80", "[]:80", "unix:", "1.2.3.4:-1", "1.2.3.4:"}) {
    EXPECT_FALSE(parse_endpoint(text)) << text;
  }
  EXPECT_FALSE(parse_endpoint("unix:/" + std::string(107, 'a')));
}

}  // namespace
}  // namespace framewire::service::http
