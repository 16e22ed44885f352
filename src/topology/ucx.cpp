// UCX as its API reference documents it, loaded at run time.
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <topology/library.hpp>
#include <topology/library_facts.hpp>

namespace framewire::topology {
namespace {

using UcpContextHandle = struct UcpContext*;
using Config = struct UcpConfig*;

// Only the first fields; UCX reads what field_mask names and later versions add at the end.
struct ContextParameters {
  std::uint64_t field_mask = 1;      // UCP_PARAM_FIELD_FEATURES
  std::uint64_t features = 1u << 6;  // UCP_FEATURE_AM
  std::array<std::uint64_t, 30> unused{};
};

struct Attributes {
  std::uint64_t field_mask = 1u << 2;  // UCP_ATTR_FIELD_MEMORY_TYPES
  std::size_t request_size = 0;
  int thread_mode = 0;
  std::uint64_t memory_types = 0;
  std::array<std::uint64_t, 28> unused{};
};

struct Ucp {
  explicit Ucp(Library& library)
      : version(library.find<void(unsigned*, unsigned*, unsigned*)>("ucp_get_version")),
        read_config(library.find<int(const char*, const char*, Config*)>("ucp_config_read")),
        release_config(library.find<void(Config)>("ucp_config_release")),
        init(library.find<int(unsigned, unsigned, const ContextParameters*, Config,
                              UcpContextHandle*)>("ucp_init_version")),
        cleanup(library.find<void(UcpContextHandle)>("ucp_cleanup")),
        query(library.find<int(UcpContextHandle, Attributes*)>("ucp_context_query")),
        print(library.find<void(UcpContextHandle, std::FILE*)>("ucp_context_print_info")) {}

  [[nodiscard]] bool complete() const {
    return version && read_config && release_config && init && cleanup && query && print;
  }

  void (*version)(unsigned*, unsigned*, unsigned*);
  int (*read_config)(const char*, const char*, Config*);
  void (*release_config)(Config);
  int (*init)(unsigned, unsigned, const ContextParameters*, Config, UcpContextHandle*);
  void (*cleanup)(UcpContextHandle);
  int (*query)(UcpContextHandle, Attributes*);
  void (*print)(UcpContextHandle, std::FILE*);
};

// The context's description has a line "# resource 3 : md 2 dev 1 flags -- tcp/eth0" for each.
std::vector<std::string> transports_of(const Ucp& ucp, UcpContextHandle context) {
  std::vector<std::string> found;
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* const memory = open_memstream(&text, &length);
  if (memory == nullptr) return found;
  ucp.print(context, memory);
  std::fclose(memory);
  std::istringstream lines(std::string(text, length));
  std::free(text);
  std::string line;
  while (std::getline(lines, line)) {
    const std::size_t slash = line.rfind('/');
    if (line.find("resource") == std::string::npos || slash == std::string::npos) continue;
    const std::size_t space = line.rfind(' ', slash);
    if (space != std::string::npos) found.push_back(line.substr(space + 1, slash - space - 1));
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void ask_context(const Ucp& ucp, unsigned major, unsigned minor, UcxFacts& facts) {
  Config config = nullptr;
  if (const int code = ucp.read_config(nullptr, nullptr, &config); code != 0) {
    facts.library.evidence = fmt::format("UCX {}: ucp_config_read: status {}", facts.version, code);
    return;
  }
  const ContextParameters parameters;
  UcpContextHandle context = nullptr;
  const int code = ucp.init(major, minor, &parameters, config, &context);
  ucp.release_config(config);
  if (code != 0) {
    facts.library.evidence = fmt::format("UCX {}: ucp_init: status {}", facts.version, code);
    return;
  }
  Attributes attributes;
  facts.library.working = ucp.query(context, &attributes) == 0;
  facts.memory_types = attributes.memory_types;
  facts.transports = transports_of(ucp, context);
  ucp.cleanup(context);
  facts.library.evidence = fmt::format("libucp.so.0, UCX {}", facts.version);
}

}  // namespace

UcxFacts ask_ucx() {
  UcxFacts facts;
  facts.library.asked = true;
  Library library("libucp.so.0");
  const Ucp ucp(library);
  facts.library.loaded = library.loaded() && ucp.complete();
  if (!facts.library.loaded) {
    facts.library.evidence = library.error();
    return facts;
  }
  unsigned major = 0, minor = 0, release = 0;
  ucp.version(&major, &minor, &release);
  facts.version = fmt::format("{}.{}.{}", major, minor, release);
  ask_context(ucp, major, minor, facts);
  return facts;
}

GdrcopyFacts ask_gdrcopy() {
  GdrcopyFacts facts;
  facts.library.asked = true;
  Library library("libgdrapi.so.2");
  auto* const version = library.find<void(int*, int*)>("gdr_runtime_get_version");
  facts.library.loaded = facts.library.working = version != nullptr;
  if (version == nullptr) {
    facts.library.evidence = library.error();
    return facts;
  }
  int major = 0, minor = 0;
  version(&major, &minor);
  facts.library.evidence = fmt::format("libgdrapi.so.2, version {}.{}", major, minor);
  return facts;
}

}  // namespace framewire::topology
