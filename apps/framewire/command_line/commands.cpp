#include <algorithm>
#include <array>
#include <command_line/command.hpp>
#include <command_line/gpu_options.hpp>
#include <command_line/store_options.hpp>
#include <commands/batch/packing_options.hpp>
#include <commands/index/options.hpp>
#include <commands/report/options.hpp>
#include <commands/tensor/options.hpp>
#include <iterator>
#ifdef FRAMEWIRE_SERVICE
#include <service/http/settings.hpp>
#endif

namespace framewire::app {
namespace {

constexpr OptionSpec kJson{"json",  "", "", "", "print a report as JSON on standard output",
                           "Output"};
constexpr OptionSpec kQuiet{"quiet", "", "", "", "print errors only", "Output"};
constexpr OptionSpec kInPlace{"in-place", "", "", "", "allow an output to replace its own input",
                              "Output"};
constexpr OptionSpec kDurability{
    "durability",
    "LEVEL",
    "none|file",
    "none",
    "file: flush each output to the disk before it gets its name, as --in-place does by itself; "
    "none: leave that to the system",
    "Output"};

constexpr OptionSpec kMode{"mode",
                           "OCTAL",
                           "",
                           "",
                           "permissions of outputs, such as 644; if not given, those of the input "
                           "without what the umask takes, or of the file that is replaced, never "
                           "wider than the input's",
                           "Output"};

constexpr OptionSpec kResizeOwn[] = {kDeviceOption, kGpuMemoryOption, kJson, kQuiet,
                                     kInPlace,      kDurability,      kMode};

constexpr OptionSpec kBatchOwn[] = {
    {"jobs", "N", "", "",
     "images in work at the same time, with a GPU groups of up to 16; if not given, as many as "
     "cores, with a GPU half as many",
     "Batch"},
    {"files-from", "LIST", "", "", "read input names from a file, one a line; - is standard input",
     "Batch"},
    {"null", "", "", "", "names in the list end with NUL, as find -print0 writes them", "Batch"},
    {"manifest", "FILE", "", "",
     "write a row of JSON for every input; of tar shards: the folder "
     "of their manifests, OUT_DIR if not given",
     "Batch"},
    {"resume", "", "", "", "continue the manifest: do only what is missing or failed", "Batch"},
    {"on-error", "ACTION", "skip|fail", "skip", "go on after a failed input, or stop there",
     "Batch"},
    {"shard", "I/N", "", "1/1",
     "process the I-th of N parts, the same on every machine; auto: the part of this task of an "
     "array of Slurm's, Kubernetes' or AWS Batch's",
     "Batch"},
    {"retry", "WHICH", "failed", "", "with --resume: make shards again that had failures",
     "Shards"},
    {"failed-samples", "WHAT", "drop|keep", "drop",
     "a sample with a picture that failed is left out of its shard, or travels along as it came",
     "Shards"},
    {"server", "WHERE", "", "",
     "use another process' engine: PATH, the socket of framewire serve --local on this machine, or "
     "HOST:PORT, the address of framewire serve --remote-clients",
     "Batch"},
    {"psk", "FILE", "", "",
     "with --server HOST:PORT: pre-shared keys, lines NAME HEX, readable by their owner only",
     "Connection"},
    {"psk-name", "NAME", "", "", "which of the keys is ours; the first, if not given",
     "Connection"},
    {"link", "LINK", "stream|ucx-rdma", "stream",
     "with --server HOST:PORT: what carries the data; ucx-rdma only where the server names it, too",
     "Connection"},
    {"interface", "NAME", "", "", "RDMA device and port of ucx-rdma, mlx5_0:1", "Connection"},
    {"retries", "N", "", "1",
     "with --server: how often in a row to connect again where the connection is lost, and send "
     "again what has no answer; 0 to 1000",
     "Connection"},
    {"progress", "WHEN", "auto|always|never|json", "auto",
     "show a progress line on standard error; auto: on terminals; json: a line of JSON a second",
     "Output"},
    kEndpointOption,
    kRegionOption,
    kProfileOption,
    kPathStyleOption,
    kRangesOption,
    kStoreMemoryOption,
    kDeviceOption,
    kGpuMemoryOption,
    kDurability,
    kInPlace,
    kMode,
    kJson,
    kQuiet};

constexpr OptionSpec kInspectOwn[] = {kJson};

constexpr OptionSpec kBenchOwn[] = {
    {"codec", "LIST", "", "turbo",
     "codecs to measure, joined by commas; serve: one, auto if not given", "Measuring"},
    {"jobs", "LIST", "", "1", "resize: numbers of threads to measure, joined by commas",
     "Measuring"},
    {"batch", "N", "", "", "jpeg2jpeg: images of one batch at most", "Measuring"},
    {"streams", "N", "", "", "jpeg2jpeg: batches in work at once on each GPU", "Measuring"},
    {"memory", "WHOSE", "own|engine", "own",
     "jpeg2jpeg: where inputs lie: in memory of the program's own, or of the engine's, from which "
     "GPUs copy",
     "Measuring"},
    {"parts", "LIST", "", "throughput,latency,stages",
     "jpeg2jpeg: what to measure besides what other options ask for: throughput, latency (of a "
     "lone "
     "image and of a batch), stages, joined by commas, or none",
     "Measuring"},
    {"profiles", "N|FILES", "", "",
     "jpeg2jpeg: give inputs so many made-up ICC profiles by turns, or those of files joined by "
     "commas",
     "Measuring"},
    {"under-way", "LIST", "", "",
     "jpeg2jpeg: also measure one thread with so many requests unanswered at once, numbers joined "
     "by commas",
     "Measuring"},
    {"vary", "LIST", "", "",
     "jpeg2jpeg: also measure requests with a size, crop or quality of their own each: size or "
     "width, crop, quality, joined by commas",
     "Measuring"},
    {"rate", "N", "", "",
     "jpeg2jpeg: also measure latencies of a new engine that is sent so many requests a second, at "
     "random moments, answered or not",
     "Measuring"},
    {"seed", "N", "", "1", "jpeg2jpeg: what decides --vary and the moments of --rate", "Measuring"},
    {"memory-over-time", "", "", "",
     "jpeg2jpeg: also show memory each second while throughput is measured", "Measuring"},
    {"threads", "N", "", "",
     "jpeg2jpeg, serve: host threads of an engine; as many as cores if not given", "Measuring"},
#ifdef FRAMEWIRE_SERVICE
    {"servers", "LIST", "", "1", "serve: numbers of servers, joined by commas", "Servers"},
    {"clients", "LIST", "", "1,2", "serve: numbers of clients of each server, joined by commas",
     "Servers"},
    {"engines", "LIST", "", "separate,shared",
     "serve: separate: an engine in each server; shared: one server for all clients", "Servers"},
    {"mps", "LIST", "", "off",
     "serve: off, on: separate engines without and with NVIDIA's Multi-Process Service, which is "
     "started and ended",
     "Servers"},
    {"mps-program", "FILE", "", "", "serve: nvidia-cuda-mps-control; looked for, if not given",
     "Servers"},
    {"mps-threads", "PERCENT", "", "",
     "serve: of the GPU's threads that each server may use under MPS, 1 to 100", "Servers"},
    {"files", "WHEN", "each|once", "each",
     "serve: each: clients read and write a file for each image; once: inputs are read before, "
     "outputs stay in memory",
     "Servers"},
    {"window", "N", "", "256", "serve: requests of each client unanswered at once, 1 to 1024",
     "Servers"},
    {"client-threads", "N", "", "2", "serve: threads of each client that load and store",
     "Servers"},
    {"input-restart", "MCUS", "", "",
     "serve: first encode inputs anew, quality 90, 4:2:0, with this restart interval", "Servers"},
    {"input-size", "WxH", "", "", "serve: and in this size", "Servers"},
    {"work", "DIR", "", "",
     "serve: make a folder for inputs, outputs and sockets here; if not given, where temporary "
     "files go",
     "Servers"},
#endif
    {"seconds", "S", "", "2", "length of one measurement, 0.01 to 3600", "Measuring"},
    {"repeat", "N", "", "5", "measurements of each row, 1 to 1000; the median counts", "Measuring"},
    kDeviceOption,
    kGpuMemoryOption,
    kWarmOption,
    kJson};

constexpr OptionSpec kDoctorOwn[] = {
    {"gpu", "N", "", "", "look at this GPU only: its number in nvidia-smi, or its PCI address",
     "Devices"},
    {"nic", "NAME", "", "",
     "look at this network card only: its RDMA device, interface or PCI address", "Devices"},
    {"root", "DIR", "", "/", "read sys, proc and dev of a recorded host from here", "Devices"},
    {"svg", "FILE", "", "", "draw GPUs, network cards and switches into this file", "Output"},
    kJson};

constexpr OptionSpec kSplitOwn[] = {
    {"devices", "LIST", "", "",
     "who resamples: host, once a worker, or ordinals of GPUs, joined by commas; a worker a core, "
     "if not given. The first decodes",
     "Splitting"},
    {"encode-on", "N", "", "", "the GPU that gathers and encodes; the first, if not given",
     "Splitting"},
    {"require", "PATH", "gpudirect|nvlink|p2p", "", "fail where samples would not travel so",
     "Splitting"},
    {"as", "FORM", "jpeg|planes", "jpeg", "encode what is gathered, or leave it as planes (.y4m)",
     "Splitting"},
    {"files-from", "LIST", "", "", "read input names from a file, one a line; - is standard input",
     "Splitting"},
    {"out", "DIR", "", "", "write the results below this folder; nowhere, if not given", "Output"},
    kJson,
    kQuiet};

constexpr OptionSpec kConnection[] = {
    {"psk", "FILE", "", "", "pre-shared keys, lines NAME HEX, readable by their owner only",
     "Connection"},
    {"psk-name", "NAME", "", "",
     "which of the keys is ours, of the end that connects; the first, if not given", "Connection"},
    {"cert", "FILE", "", "", "our certificate and its chain, PEM", "Connection"},
    {"key", "FILE", "", "", "our private key, PEM", "Connection"},
    {"ca", "FILE", "", "", "the authority that vouches for peers, PEM", "Connection"},
    {"allow", "LIST", "", "",
     "names of peers that may connect, joined by commas; all, if not given", "Connection"},
    {"insecure", "", "", "", "neither authenticate nor encrypt", "Connection"},
    {"link", "NAME", "auto|stream|shared|ucx-tcp|ucx-rdma|peer|peer-stream", "auto",
     "what carries the data; auto: between processes of one user on one machine peer, which needs "
     "GPUs at both ends, else shared; else stream",
     "Connection"},
    {"interface", "NAME", "", "lo",
     "network interface that ucx-tcp is bound to; RDMA device and port of ucx-rdma, mlx5_0:1",
     "Connection"}};

template <std::size_t... N>
constexpr auto join(const OptionSpec (&... tables)[N]) {
  std::array<OptionSpec, (N + ...)> all;
  auto to = all.begin();
  ((to = std::copy(std::begin(tables), std::end(tables), to)), ...);
  return all;
}

constexpr OptionSpec kPerfServer[] = {
    {"server", "ADDR:PORT", "", "", "serve one client here, then end; :PORT is this machine alone",
     "Connection"}};
constexpr OptionSpec kPerfMeasuring[] = {
    {"from", "host|cuda:N", "", "", "where the client's messages lie; host, if not given",
     "Measuring"},
    {"to", "host|cuda:N", "", "",
     "where the server's lie; with both and no address, two ends in one process", "Measuring"},
    {"require", "PATH", "gpudirect|nvlink|p2p", "", "fail where device memory would not travel so",
     "Measuring"},
    {"sizes", "FROM:TO", "", "1:4M", "bytes of a message, doubling", "Measuring"},
    {"window", "N", "", "64", "bw, bibw: messages sent before waiting for all of them",
     "Measuring"},
    {"continuous", "", "", "", "bw, bibw: as many on their way, but without such waits",
     "Measuring"},
    {"iterations", "N", "", "",
     "timed messages, or windows of them, of each size; a tenth more goes before; as OSU's, if not "
     "given",
     "Measuring"},
    {"verify", "", "", "", "compare checksums of every message; slower", "Measuring"},
    {"osu", "", "", "", "print OSU's columns only", "Output"},
    kJson};
constexpr auto kBatchAll = join(kBatchOwn, kBatchPacking);
constexpr auto kPerfOwn = join(kPerfServer, kConnection, kPerfMeasuring);

constexpr OptionSpec kRequire{
    "require",   "PATH", "gpudirect|nvlink|p2p", "", "refuse to go another way than this",
    "Connection"};

constexpr OptionSpec kStreamFrames[] = {
    {"from", "PLACE", "", "host", "where frames are made: host, or cuda:N", "Frames"},
    {"as", "FORMAT", "jpeg|planes", "jpeg",
     "jpeg: the files' own bytes, or what resize options make of them; planes: decoded, at the "
     "files' own sampling",
     "Frames"},
    {"rate", "FPS", "", "", "frames a second; as many as will go, if not given", "Frames"},
    {"drop-oldest", "", "", "", "where the sink is slower, drop the oldest frame that waits",
     "Frames"},
    {"queue", "N", "", "4", "frames that may wait for a slot of the sink's", "Frames"},
    {"checksum", "", "", "", "have the sink check every payload, and send damaged ones again",
     "Frames"},
    {"loop", "N", "", "1", "send all inputs so many times", "Frames"},
    {"files-from", "LIST", "", "", "read input names from a file, one a line; - is standard input",
     "Frames"},
    kRequire,
    kDeviceOption,
    kGpuMemoryOption,
    kJson,
    kQuiet};
constexpr auto kStreamOwn = join(kStreamFrames, kConnection);

constexpr OptionSpec kSinkFrames[] = {
    {"listen", "ADDR:PORT", "", "", "where to wait for senders; :PORT is this machine alone",
     "Connection"},
    {"to", "PLACE", "", "host", "where slots lie: host, or cuda:N", "Frames"},
    {"out", "DIR", "", "", "keep frames as DIR/CONNECTION-SEQUENCE.jpg or .y4m", "Frames"},
    {"slots", "N", "", "8", "frames in memory at a time", "Frames"},
    {"slot-bytes", "N", "", "16777216", "largest frame", "Frames"},
    {"frames", "N", "", "", "end after so many frames", "Frames"},
    kRequire,
    {"json", "", "", "", "print a line of JSON on each connection that has ended", "Output"},
    kQuiet};
constexpr auto kSinkOwn = join(kSinkFrames, kConnection);

#ifdef FRAMEWIRE_SERVICE
constexpr OptionSpec kSignOwn[] = {
    {"key", "HEX", "", "", "the server's key; other users of this machine can see it", "Signature"},
    {"salt", "HEX", "", "", "the server's salt; other users of this machine can see it",
     "Signature"},
    {"key-file", "FILE", "", "",
     "a file with the key in hexadecimal digits, readable by its owner only", "Signature"},
    {"salt-file", "FILE", "", "", "a file with the salt, as the key's", "Signature"},
    {"signature-size", "N", "", "32", "bytes that count, 1 to 32, as the server is told",
     "Signature"}};
#endif

constexpr std::string_view kResizeDetails =
    "IN and OUT are files; - is standard input or standard output. OUT appears whole or not at "
    "all, "
    "in a folder that exists; where it is a link of yours or of root's, what the link leads to is "
    "replaced. It is readable to nobody who could not read IN, unless --mode says so. "
    "Without --size the image keeps its size and is only encoded again.\n"
    "Names that begin with a dash come after --.";

constexpr std::string_view kBatchDetails =
    "IN is a folder, searched with all folders below it, whose tree is kept; or tar shards, "
    "'train-{000000..000999}.tar' in quotes, of which shards with the same names are made, or with "
    "--unpack files; or "
    "several files, whose paths below their common folder are kept; or @LIST, the same as "
    "--files-from LIST. Names are "
    "never changed, so no two outputs collide. No output replaces an input, unless it is its own "
    "and "
    "--in-place is given; links in OUT_DIR are not followed. With --pack OUT_DIR is a pattern, "
    "'shards/%06d.tar', of shards that are filled one after another. s3://BUCKET/PREFIX/ "
    "names objects of a store, as IN or OUT_DIR; 's3://BUCKET/train-*.tar' its tar shards.\n"
    "Files found in a folder that neither are JPEG nor are named like one are skipped. Outputs "
    "appear whole or not at all. Rows of the manifest come in the order in which inputs finish; "
    "the outputs do not depend on --jobs. With --resume an input is left alone if its latest row "
    "is "
    "ok, was made with the same options, and size and time (or content) of the input and size of "
    "the output are as recorded.";

constexpr std::string_view kInspectDetails =
    "Lists the markers with offset, length and meaning, then frame, scans, tables and metadata, "
    "and "
    "what each codec would do under the given options. Reads headers only: no limits apply until "
    "that last part.";

constexpr std::string_view kBenchDetails =
    "Measures resizing in memory: inputs are read before, outputs are verified before and dropped "
    "in the measurement. IN are files or folders.\n"
    "resize: the library call on N threads, one image each. jpeg2jpeg: an engine that is handed "
    "images without waiting, as a server would; then the time of a lone image, of a batch, and of "
    "each stage."
#ifdef FRAMEWIRE_SERVICE
    "\nserve: so many server processes (framewire serve --local) with so many client processes "
    "each, for every combination; each client loads files, sends them and stores what comes back. "
    "All begin at one moment, warm up, and are counted in windows of --seconds. Outputs are then "
    "compared, byte by byte, with those of an engine in a process of its own."
#endif
    ;

#ifdef FRAMEWIRE_SERVICE
constexpr std::string_view kBenchArguments = "resize|jpeg2jpeg|serve IN…";
#else
constexpr std::string_view kBenchArguments = "resize|jpeg2jpeg IN…";
#endif

constexpr std::string_view kDoctorDetails =
    "Tells what this host can do for frames that travel between GPUs and network cards: what was "
    "looked at, what was found and where, and what to do about it; then which path to expect "
    "between each two devices. Exit code 0 only if GPUDirect RDMA would work end to end, by all "
    "that could be read; 1 if it would not, or if that is not proven.\n"
    "Changes nothing. Run as root it sees more: ACS of switches among other things.";

constexpr std::string_view kPerfDetails =
    "Start one end with --server, then the other with its address; the same of --psk, --cert or "
    "--insecure at both. Rows, sizes and numbers of rounds are those of the OSU micro-benchmarks, "
    "with percentiles beside them. A message counts once the receiver has confirmed that it is in "
    "place: that confirmation takes the place of OSU's acknowledgement after each window.";

constexpr std::string_view kSplitDetails =
    "Each picture is decoded in one place; stripes of its planes travel to all workers, are "
    "resampled there and travel back; the whole is encoded in one place. The results are, byte for "
    "byte, those of framewire resize. Shows what each worker has done, and how its samples "
    "travelled. IN is a folder, several files, or @LIST.";

constexpr std::string_view kStreamDetails =
    "Sends pictures to framewire sink, in order. IN is as for batch: a folder, files, or @LIST. "
    "Ends "
    "when the sink has confirmed the last one.";

constexpr std::string_view kSinkDetails =
    "Receives what framewire stream sends, from one sender after another: one that comes meanwhile "
    "waits, and gives up after 10 s. Frames are in order; numbers that are missing are counted as "
    "dropped. Files appear whole or not at all. Ends with --frames, with a signal, or when the "
    "disk "
    "is full. Latency is from the sender's clock to ours: it means something on one machine, or "
    "where clocks agree.";

#ifdef FRAMEWIRE_SERVICE
constexpr OptionSpec kServeCommand[] = {
    {"config", "FILE", "", "", "read settings from a TOML file", "Configuration"},
    {"check", "", "", "", "print what holds, and where it comes from, and end", "Configuration"},
    {"health", "", "", "",
     "ask the service of these settings, at its first address, whether it is ready, and end",
     "Configuration"}};

// The service's settings and what the command has besides. The former are a table of their own,
// which a file and the environment set too.
std::span<const OptionSpec> serve_own() {
  static const std::vector<OptionSpec> all = [] {
    const auto settings = service::http::setting_specs();
    std::vector<OptionSpec> joined(settings.begin(), settings.end());
    joined.insert(joined.end(), std::begin(kServeCommand), std::end(kServeCommand));
    return joined;
  }();
  return all;
}

constexpr std::string_view kServeDetails =
    "Answers POST /v1/resize?size=1024x&quality=80 with the picture resized, and POST /v1/inspect "
    "with what framewire inspect --json prints; /livez and /readyz tell how it is. Options of "
    "pictures given here are the defaults of requests, and limits bound every request.\n"
    "Settings come from flags, from the environment (FRAMEWIRE_MAX_CONNECTIONS for "
    "--max-connections), from the file that --config names (max-connections = 100), and are "
    "defaults otherwise: the first of these that says something counts.\n"
    "SIGTERM and SIGINT end in order: what is under way is answered first.";

constexpr std::string_view kSignDetails =
    "PATH is what follows the signature in a URL of the image service: options and source, such as "
    "/rs:fit:300:200/plain/https://example.com/photo.jpg. Prints the whole path, with its "
    "signature "
    "in front, one a line. Needs a key and a salt.";
#endif

constexpr std::string_view kCompletionDetails =
    "For bash: source <(framewire completion bash). Installed packages bring the files already.";

const std::array kCommands = {
    Command{"resize", "IN OUT", "resize one JPEG", kResizeDetails, true, kResizeOwn, "", 2, 2,
            run_resize},
    Command{"batch", "IN… OUT_DIR", "resize a folder, a list or several files", kBatchDetails, true,
            kBatchAll, "", 1, 0, run_batch},
    Command{"inspect", "FILE…", "show what a JPEG is made of", kInspectDetails, true, kInspectOwn,
            "", 1, 0, run_inspect},
    Command{"report", "DIR [SHARD…]", "say what is done of tar shards, failed and missing",
            kReportDetails, false, kReportOwn, "", 1, 0, run_report},
    Command{"index", "SHARD…", "write indices of tar shards, for DALI and WebDataset",
            kIndexDetails, false, kIndexOwn, "", 1, 0, run_index},
    Command{"bench", kBenchArguments, "measure images per second", kBenchDetails, true, kBenchOwn,
            kBenchWords, 2, 0, run_bench},
    Command{"doctor", "", "tell whether GPUs and network cards can talk directly", kDoctorDetails,
            false, kDoctorOwn, "", 0, 0, run_doctor},
    Command{"perf", "latency|bw|bibw [HOST:PORT]", "measure messages between two processes",
            kPerfDetails, false, kPerfOwn, "latency|bw|bibw", 1, 2, run_perf},
    Command{"stream", "IN… HOST:PORT", "send pictures to a sink", kStreamDetails, true, kStreamOwn,
            "", 1, 0, run_stream},
    Command{"sink", "", "receive pictures from a stream", kSinkDetails, false, kSinkOwn, "", 0, 0,
            run_sink},
    Command{"split", "IN…", "resize each picture in stripes, on several workers", kSplitDetails,
            true, kSplitOwn, "", 0, 0, run_split},
    Command{"tensor", "IN…", "make a normalised training batch of pictures", tensor_details(),
            false, tensor_options(), "", 0, 0, run_tensor},
#ifdef FRAMEWIRE_SERVICE
    Command{"serve", "[FOLDER]", "answer HTTP requests with resized pictures", kServeDetails, true,
            serve_own(), "", 0, 1, run_serve, true},
    Command{"sign", "PATH…", "sign URLs of the image service", kSignDetails, false, kSignOwn, "", 1,
            0, run_sign},
#endif
    Command{"completion",
            "SHELL",
            "print a completion script for bash, zsh or fish",
            kCompletionDetails,
            false,
            {},
            "bash|zsh|fish",
            1,
            1,
            run_completion},
    Command{"man", "", "print the manual page", "", false, {}, "", 0, 0, run_man},
    Command{"version", "", "print the version", "", false, {}, "", 0, 0, run_version},
};

}  // namespace

std::string Arguments::get(std::string_view name) const {
  const auto found = own.find(name);
  return found == own.end() ? std::string{} : found->second;
}

std::span<const Command> commands() noexcept { return kCommands; }

std::vector<OptionSpec> options_of(const Command& command) {
  std::vector<OptionSpec> all;
  if (command.takes_resize_options) {
    // A command may have an option of its own in place of a resize option.
    const auto shadowed = [&](const OptionSpec& spec) {
      return std::any_of(command.own.begin(), command.own.end(),
                         [&](const OptionSpec& own) { return own.name == spec.name; });
    };
    const auto resize = option_specs();
    std::remove_copy_if(resize.begin(), resize.end(), std::back_inserter(all), shadowed);
  }
  all.insert(all.end(), command.own.begin(), command.own.end());
  return all;
}

}  // namespace framewire::app
