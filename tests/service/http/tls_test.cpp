// The server over TLS: what it shows, what it takes over, and that it answers as without.
#include <gtest/gtest.h>
#include <atomic>
#include <tests/service/http/tls_server.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
using service::test::Certificate;

TEST(HttpTls, AnswersOverBothVersions) {
  TlsServer server;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TestClient client(server.endpoint(), {.version = version, .protocol = "http/1.1"});
    ASSERT_TRUE(client.connected()) << version;
    EXPECT_EQ(client.tls()->protocol(), "http/1.1");
    EXPECT_EQ(client.tls()->certificate(), server.first.pem());
    for (int i = 0; i < 3; ++i) {
      const auto answer = client.ask(get("/livez"));
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 200);
      EXPECT_EQ(answer->body, "ok\n");
    }
  }
}

TEST(HttpTls, RefusesWhatIsTooOldOrAnotherProtocol) {
  TlsServer server;
  EXPECT_FALSE(TestClient(server.endpoint(), {.version = TLS1_1_VERSION}).connected());
  for (const char* ciphers : {"ECDHE-ECDSA-AES128-SHA256", "AES128-GCM-SHA256", "DHE"}) {
    EXPECT_FALSE(
        TestClient(server.endpoint(), {.version = TLS1_2_VERSION, .ciphers = ciphers}).connected())
        << ciphers;
  }
  EXPECT_FALSE(TestClient(server.endpoint(), {.protocol = "spdy/3"}).connected());
  EXPECT_TRUE(within_a_minute(
      [&] { return server.metric("framewire_tls_handshakes_total{result=\"failed\"}") == "5"; }));
}

TEST(HttpTls, TheOldestVersionIsASetting) {
  ServiceSettings settings = loopback();
  settings.tls_min_version = TlsVersion::k13;
  TlsServer server(settings);
  EXPECT_FALSE(TestClient(server.endpoint(), {.version = TLS1_2_VERSION}).connected());
  EXPECT_TRUE(TestClient(server.endpoint(), {.version = TLS1_3_VERSION}).connected());
}

TEST(HttpTls, ResumesSessions) {
  TlsServer server;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Session session;
    {
      TestClient client(server.endpoint(), {.version = version});
      EXPECT_EQ(client.ask(get("/livez"))->status, 200);
      EXPECT_FALSE(client.tls()->resumed());
      session = client.tls()->session();
    }
    TestClient client(server.endpoint(), {.version = version, .session = session.get()});
    EXPECT_EQ(client.ask(get("/livez"))->status, 200);
    EXPECT_TRUE(client.tls()->resumed()) << version;
  }
  EXPECT_EQ(server.metric("framewire_tls_handshakes_total{result=\"full\"}"), "2");
  EXPECT_EQ(server.metric("framewire_tls_handshakes_total{result=\"resumed\"}"), "2");
}

TEST(HttpTls, GivesTheBytesThatItGivesWithout) {
  TlsServer server;
  const std::string request =
      post("/v1/resize?size=1900x&quality=95", text_of(make_jpeg(3000, 2000)));
  TestClient plain(server.plain_endpoint());
  const auto expected = plain.ask(request);
  ASSERT_TRUE(expected);
  ASSERT_EQ(expected->status, 200);
  // So that several records and turns are needed both ways.
  ASSERT_GT(request.size(), 200'000u);
  ASSERT_GT(expected->body.size(), 200'000u);
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    TestClient client(server.endpoint(), {.version = version});
    for (int i = 0; i < 3; ++i) {
      const auto answer = client.ask(request);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->status, 200);
      EXPECT_TRUE(answer->body == expected->body);
    }
  }
  EXPECT_TRUE(server.server.idle());
}

TEST(HttpTls, AnswersTenThousandRequestsOfOneConnection) {
  TlsServer server;
  TestClient client(server.endpoint());
  // Forty at a time, so that several come in one record.
  std::string forty;
  for (int i = 0; i < 40; ++i) forty += get("/livez");
  for (int i = 0; i < 250; ++i) {
    ASSERT_TRUE(client.send(forty));
    for (int k = 0; k < 40; ++k) {
      const auto answer = client.receive();
      ASSERT_TRUE(answer) << i;
      ASSERT_EQ(answer->status, 200);
    }
  }
}

TEST(HttpTls, ContinuesClientsThatAskBefore) {
  TlsServer server;
  TestClient client(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(200, 100));
  ASSERT_TRUE(
      client.send("POST /v1/resize?size=20x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
                  "Content-Length: " +
                  std::to_string(jpeg.size()) + "\r\n\r\n"));
  EXPECT_EQ(client.receive()->status, 100);
  const auto answer = client.ask(jpeg);
  ASSERT_TRUE(answer);
  EXPECT_EQ(size_of(answer->body), "20x10");
}

TEST(HttpTls, EndsInOrder) {
  ServiceSettings settings = loopback();
  settings.keep_alive_timeout_ms = 1'000;
  TlsServer server(settings);
  TestClient idle(server.endpoint());
  EXPECT_EQ(idle.ask(get("/livez"))->status, 200);
  EXPECT_TRUE(idle.closed_within(kPatience));
  EXPECT_TRUE(idle.ended_in_order());
  TestClient last(server.endpoint());
  EXPECT_EQ(last.ask(get("/livez", "Connection: close\r\n"))->status, 200);
  EXPECT_TRUE(last.closed_within(9s));
  EXPECT_TRUE(last.ended_in_order());
}

TEST(HttpTls, Drains) {
  ServiceSettings settings = loopback();
  settings.drain_timeout_ms = 60'000;
  TlsServer server(settings);
  TestClient idle(server.endpoint());
  TestClient late(server.endpoint());
  for (TestClient* client : {&idle, &late}) EXPECT_EQ(client->ask(get("/livez"))->status, 200);
  TestClient fresh(server.endpoint());
  std::thread asking([&] {
    while (TestClient(server.endpoint()).connected()) std::this_thread::sleep_for(5ms);
    for (TestClient* client : {&fresh, &late}) {
      const auto answer = client->ask(get("/livez"));
      ASSERT_TRUE(answer) << (client == &fresh ? "one that had only shaken hands"
                                               : "one whose request was on its way");
      EXPECT_EQ(answer->status, 200);
      EXPECT_EQ(answer->field("connection"), "close");
      EXPECT_TRUE(client->closed_within(9s));
    }
    EXPECT_TRUE(idle.closed_within(9s));
    EXPECT_TRUE(idle.ended_in_order());
  });
  EXPECT_TRUE(server.server.server().drain());
  asking.join();
}

TEST(HttpTls, SpeaksTlsOverUnixSockets) {
  TlsFiles files;
  ServiceSettings settings = files.add_to(loopback());
  settings.listen = {"tls:unix:" + (files.folder.path() / "socket").string()};
  TestServer server(settings);
  EXPECT_EQ(server.endpoint(), settings.listen[0]);
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.ask(get("/livez"))->status, 200);
}

TEST(HttpTlsReload, ShowsTheNewCertificateToNewConnectionsAlone) {
  TlsServer server;
  TestClient before(server.endpoint());
  EXPECT_EQ(before.ask(get("/livez"))->status, 200);
  const Session session = before.tls()->session();
  const Certificate second("localhost");
  server.write(second);
  TestClient between(server.endpoint());
  EXPECT_EQ(between.tls()->certificate(), server.first.pem()) << "not read before it is asked for";
  const auto reloaded = server.reload();
  ASSERT_TRUE(reloaded) << reloaded.error().to_string();
  EXPECT_EQ(before.ask(get("/livez"))->status, 200);
  TestClient after(server.endpoint(), {.session = session.get()});
  EXPECT_EQ(after.ask(get("/livez"))->status, 200);
  EXPECT_EQ(after.tls()->certificate(), second.pem());
  EXPECT_FALSE(after.tls()->resumed()) << "a ticket of the certificate before";
}

TEST(HttpTlsReload, LosesNoRequestUnderLoad) {
  ServiceSettings settings = loopback();
  settings.threads = 2;
  TlsServer server(settings);
  const Certificate second("localhost");
  std::atomic<int> answered{0};
  std::atomic<int> failed{0};
  std::atomic<int> reloads{0};
  std::vector<std::thread> clients;
  for (int t = 0; t < 3; ++t) {
    clients.emplace_back([&] {
      for (int i = 0; i < 60 || reloads <= 2; ++i) {
        TestClient client(server.endpoint());
        for (int k = 0; k < 4; ++k) {
          const auto answer = client.ask(get("/livez"));
          (answer && answer->status == 200 ? answered : failed).fetch_add(1);
        }
      }
    });
  }
  while (answered + failed < 3 * 60 * 4 || reloads <= 2) {
    server.write(reloads % 2 == 0 ? second : server.first);
    EXPECT_TRUE(server.reload());
    ++reloads;
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(failed.load(), 0);
}

struct BadFile {
  const char* name;
  void (*spoil)(const TlsFiles&);
  StatusCode code;
  const char* file;     ///< that the error is about
  const char* message;  ///< a part of it
};

const BadFile kBadFiles[] = {
    {"no certificate", [](const TlsFiles& f) { std::filesystem::remove(f.cert()); },
     StatusCode::kIoError, "cert.pem", "No such file"},
    {"no key", [](const TlsFiles& f) { std::filesystem::remove(f.key()); }, StatusCode::kIoError,
     "key.pem", "No such file"},
    {"garbage", [](const TlsFiles& f) { f.folder.write("cert.pem", "garbage"); },
     StatusCode::kInvalidInput, "cert.pem", "no usable certificate"},
    {"empty", [](const TlsFiles& f) { f.folder.write("cert.pem", ""); }, StatusCode::kInvalidInput,
     "cert.pem", "no usable certificate"},
    {"a damaged chain",
     [](const TlsFiles& f) {
       f.folder.write("cert.pem", f.first.pem() + "-----BEGIN CERTIFICATE-----\nAAAA\n");
     },
     StatusCode::kInvalidInput, "cert.pem", "chain"},
    {"a long one",
     [](const TlsFiles& f) { f.folder.write("cert.pem", std::string((1u << 20) + 1, '\n')); },
     StatusCode::kInvalidInput, "cert.pem", "more than 1048576 bytes"},
    {"a folder",
     [](const TlsFiles& f) {
       std::filesystem::remove(f.cert());
       std::filesystem::create_directory(f.cert());
     },
     StatusCode::kInvalidInput, "cert.pem", "no regular file"},
    {"another's key", [](const TlsFiles& f) { f.write_key(Certificate("other").key_pem()); },
     StatusCode::kInvalidInput, "key.pem", "does not belong to the certificate in"},
    {"a password", [](const TlsFiles& f) { f.write_key(f.first.key_pem("secret")); },
     StatusCode::kInvalidInput, "key.pem", "without a password"},
    {"no key in it", [](const TlsFiles& f) { f.write_key(f.first.pem()); },
     StatusCode::kInvalidInput, "key.pem", "no private key"},
    {"a key for all",
     [](const TlsFiles& f) {
       std::filesystem::permissions(f.key(), std::filesystem::perms::others_read,
                                    std::filesystem::perm_options::add);
     },
     StatusCode::kDenied, "key.pem", "chmod 600"},
};

TEST(HttpTlsReload, KeepsWhatItHasWhereFilesAreBad) {
  for (const BadFile& bad : kBadFiles) {
    TlsServer server;
    bad.spoil(server);
    const auto reloaded = server.reload();
    ASSERT_FALSE(reloaded) << bad.name;
    EXPECT_EQ(reloaded.error().code(), bad.code) << bad.name;
    EXPECT_TRUE(reloaded.error().subject().ends_with(bad.file)) << reloaded.error().to_string();
    EXPECT_NE(reloaded.error().message().find(bad.message), std::string::npos)
        << reloaded.error().to_string();
    TestClient client(server.endpoint());
    ASSERT_TRUE(client.connected()) << bad.name;
    EXPECT_EQ(client.tls()->certificate(), server.first.pem()) << bad.name;
    EXPECT_EQ(client.ask(get("/livez"))->status, 200) << bad.name;
  }
}

TEST(HttpTlsFiles, AreCheckedBeforeTheServerStarts) {
  for (const BadFile& bad : kBadFiles) {
    TlsFiles files;
    const ServiceSettings settings = files.add_to(loopback());
    ASSERT_TRUE(check_files(settings)) << bad.name;
    bad.spoil(files);
    const auto checked = check_files(settings);
    ASSERT_FALSE(checked) << bad.name;
    EXPECT_EQ(checked.error().code(), bad.code) << bad.name;
    EXPECT_THROW(TestServer{settings}, std::runtime_error) << bad.name;
  }
}

TEST(HttpTlsFiles, ExpiredCertificatesAreServedWithAWarning) {
  TlsFiles files;
  files.write(Certificate("localhost", true));
  const ServiceSettings settings = files.add_to(loopback());
  const auto warnings = check_files(settings);
  ASSERT_TRUE(warnings);
  ASSERT_EQ(warnings->size(), 1u);
  EXPECT_EQ(warnings->front(), files.cert() + ": the certificate has expired");
  TestServer server(settings);
  EXPECT_TRUE(TestClient(server.endpoint()).connected());
  for (int i = 0; i < 1000 && server.log().empty(); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_NE(server.log().find("the certificate has expired"), std::string::npos);
}

TEST(HttpTlsSettings, NobodyIsLeftBelievingThatHeSpeaksTls) {
  struct Case {
    std::vector<std::string> listen;
    std::vector<std::string> metrics;
    bool cert;
    bool key;
    const char* about;  ///< null: fine
  };
  const Case cases[] = {
      {{"tls::1"}, {}, true, true, nullptr},
      {{":1", "tls::2"}, {}, true, true, nullptr},
      {{":1"}, {"tls::2"}, true, true, nullptr},
      {{":1"}, {}, false, false, nullptr},
      {{"tls::1"}, {}, false, false, "tls-cert"},
      {{"tls::1"}, {}, true, false, "tls-key"},
      {{"tls::1"}, {}, false, true, "tls-cert"},
      {{":1"}, {"tls::2"}, false, false, "tls-cert"},
      {{":1"}, {}, true, true, "tls-cert"},
      {{":1"}, {}, false, true, "tls-key"},
      {{":1", "tls::1"}, {}, true, true, "listen"},
      {{"unix:/a", "tls:unix:/a"}, {}, true, true, "listen"},
      {{"tls::1"}, {":1"}, true, true, "metrics"},
  };
  for (const Case& one : cases) {
    ServiceSettings settings;
    settings.listen = one.listen;
    settings.metrics = one.metrics;
    if (one.cert) settings.tls_cert = "cert.pem";
    if (one.key) settings.tls_key = "key.pem";
    const auto valid = validate(settings);
    EXPECT_EQ(valid.has_value(), one.about == nullptr) << one.listen.back();
    if (!valid && one.about != nullptr) {
      EXPECT_EQ(valid.error().subject(), one.about) << valid.error().to_string();
    }
  }
}

}  // namespace
}  // namespace framewire::service::http::test
