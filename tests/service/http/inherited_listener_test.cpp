// Sockets that whoever started the program has opened.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <framewire/engine.hpp>
#include <service/http/listener.hpp>
#include <tests/service/http/client.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

using base::FileDescriptor;

FileDescriptor make_socket(int family, int type, const char* path = nullptr, bool listens = true) {
  FileDescriptor fd(::socket(family, type | SOCK_CLOEXEC, 0));
  sockaddr_storage storage{};
  storage.ss_family = static_cast<sa_family_t>(family);
  socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (family == AF_INET) {
    reinterpret_cast<sockaddr_in*>(&storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  } else if (family == AF_UNIX) {
    std::string_view(path).copy(reinterpret_cast<sockaddr_un*>(&storage)->sun_path, 107);
    length = sizeof(sockaddr_un);
  }
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length), 0);
  if (listens) {
    EXPECT_EQ(::listen(fd.get(), 16), 0);
  }
  return fd;
}

std::string error_of(FileDescriptor fd) {
  const auto made = adopt_listener(std::move(fd), "socket 'web'");
  return made ? "none" : made.error().to_string();
}

TEST(HttpInheritedListener, AnswersAsIfItWereItsOwn) {
  const service::test::TemporaryFolder folder;
  const std::string path = (folder.path() / "s").string();
  const FileDescriptor tcp = make_socket(AF_INET, SOCK_STREAM);
  const FileDescriptor local = make_socket(AF_UNIX, SOCK_STREAM, path.c_str());
  EngineOptions options;
  options.codec = CodecKind::kTurbo;
  options.threads = 1;
  auto engine = Engine::make(options);
  ASSERT_TRUE(engine);
  ServiceSettings settings = loopback();
  settings.threads = 3;
  // Twice: whoever opened the sockets keeps them, and may start another server.
  for (int round = 0; round < 2; ++round) {
    InheritedListeners inherited;
    for (const FileDescriptor* fd : {&tcp, &local}) {
      auto listener = adopt_listener(FileDescriptor(::dup(fd->get())), "socket");
      ASSERT_TRUE(listener) << listener.error().to_string();
      inherited.requests.push_back(std::move(*listener));
    }
    auto server = Server::start(settings, *engine, {}, nullptr, std::move(inherited));
    ASSERT_TRUE(server) << server.error().to_string();
    ASSERT_EQ((*server)->endpoints().size(), 2u) << "those of the settings are not opened";
    EXPECT_EQ((*server)->endpoints()[1], "unix:" + path);
    for (const std::string& endpoint : (*server)->endpoints()) {
      TestClient client(endpoint);
      EXPECT_EQ(client.ask(get("/livez"))->status, 200) << endpoint;
    }
    EXPECT_TRUE((*server)->drain());
    EXPECT_EQ(::access(path.c_str(), F_OK), 0) << "the file is not the server's to delete";
  }
}

TEST(HttpInheritedListener, ConnectionsThatComeDuringTheEndWaitForTheNextServer) {
  const FileDescriptor tcp = make_socket(AF_INET, SOCK_STREAM);
  auto engine = Engine::make({});
  ASSERT_TRUE(engine);
  const auto start = [&] {
    InheritedListeners inherited;
    inherited.requests.push_back(*adopt_listener(FileDescriptor(::dup(tcp.get())), "socket"));
    return std::move(*Server::start(loopback(), *engine, {}, nullptr, std::move(inherited)));
  };
  auto server = start();
  const std::string endpoint = server->endpoints().front();
  EXPECT_TRUE(server->drain());
  TestClient waiting(endpoint);
  ASSERT_TRUE(waiting.send(get("/livez")));
  server.reset();
  server = start();
  const auto answer = waiting.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(HttpInheritedListenerAttack, TakesThePlaceOfNoAddressWithTls) {
  const FileDescriptor tcp = make_socket(AF_INET, SOCK_STREAM);
  auto engine = Engine::make({});
  ASSERT_TRUE(engine);
  ServiceSettings settings = loopback();
  const auto start = [&](std::vector<ListeningSocket> InheritedListeners::*kind) {
    InheritedListeners inherited;
    (inherited.*kind).push_back(*adopt_listener(FileDescriptor(::dup(tcp.get())), "socket"));
    return Server::start(settings, *engine, {}, nullptr, std::move(inherited));
  };
  settings.tls_cert = settings.tls_key = "none.pem";
  settings.listen = {"127.0.0.1:0", "tls:127.0.0.1:0"};
  const auto refused = start(&InheritedListeners::requests);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), StatusCode::kInvalidInput);
  EXPECT_EQ(refused.error().subject(), "listen");
  settings.listen = {"127.0.0.1:0"};
  settings.metrics = {"tls:127.0.0.1:0"};
  const auto metrics = start(&InheritedListeners::metrics);
  ASSERT_FALSE(metrics);
  EXPECT_EQ(metrics.error().subject(), "metrics");
}

TEST(HttpInheritedListenerAttack, WhatIsNoListeningStreamSocketIsRefused) {
  const service::test::TemporaryFolder folder;
  const auto named = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string accepted = "a listening stream socket";
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const FileDescriptor other_end(pipe[1]);
  std::vector<FileDescriptor> wrong;
  wrong.push_back(make_socket(AF_INET, SOCK_DGRAM, nullptr, false));
  wrong.push_back(make_socket(AF_INET, SOCK_STREAM, nullptr, false));
  wrong.push_back(make_socket(AF_UNIX, SOCK_SEQPACKET, named("a").c_str()));
  wrong.push_back(make_socket(AF_UNIX, SOCK_DGRAM, named("b").c_str(), false));
  wrong.emplace_back(pipe[0]);
  wrong.emplace_back(::dup(STDERR_FILENO));
  wrong.emplace_back();
  for (FileDescriptor& fd : wrong) {
    const std::string error = error_of(std::move(fd));
    EXPECT_NE(error.find(accepted), std::string::npos) << error;
    EXPECT_NE(error.find("socket 'web'"), std::string::npos) << error;
  }
  EXPECT_EQ(error_of(make_socket(AF_INET6, SOCK_STREAM)), "none");
}

}  // namespace
}  // namespace framewire::service::http::test
