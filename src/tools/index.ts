// Every native tool, listed by hand: adding one is visibly a security change.
import agentAskUser from "./agent/ask_user.ts";
import agentCommunicate from "./agent/communicate.ts";
import agentCoordinate from "./agent/coordinate.ts";
import agentCreateTool from "./agent/create_tool.ts";
import agentSpawn from "./agent/spawn.ts";
import agentStatus from "./agent/status.ts";
import agentStop from "./agent/stop.ts";
import aiAnalyzeImage from "./ai/analyze_image.ts";
import aiClassify from "./ai/classify.ts";
import aiEmbed from "./ai/embed.ts";
import aiGenerate from "./ai/generate.ts";
import aiGenerateImage from "./ai/generate_image.ts";
import aiRenderDiagram from "./ai/render_diagram.ts";
import aiSpeak from "./ai/speak.ts";
import aiTranscribe from "./ai/transcribe.ts";
import browserClick from "./browser/click.ts";
import browserClose from "./browser/close.ts";
import browserExtract from "./browser/extract.ts";
import browserNavigate from "./browser/navigate.ts";
import browserObserve from "./browser/observe.ts";
import browserOpen from "./browser/open.ts";
import browserScreenshot from "./browser/screenshot.ts";
import browserScroll from "./browser/scroll.ts";
import browserSelect from "./browser/select.ts";
import browserTabs from "./browser/tabs.ts";
import browserType from "./browser/type.ts";
import browserWait from "./browser/wait.ts";
import databaseConnections from "./database/connections.ts";
import databaseDelete from "./database/delete.ts";
import databaseInsert from "./database/insert.ts";
import databaseQuery from "./database/query.ts";
import databaseSchema from "./database/schema.ts";
import databaseTables from "./database/tables.ts";
import databaseUpdate from "./database/update.ts";
import fileCopy from "./file/copy.ts";
import fileDelete from "./file/delete.ts";
import fileDiff from "./file/diff.ts";
import fileEdit from "./file/edit.ts";
import fileGlob from "./file/glob.ts";
import fileList from "./file/list.ts";
import fileMkdir from "./file/mkdir.ts";
import fileMove from "./file/move.ts";
import fileParse from "./file/parse.ts";
import fileRead from "./file/read.ts";
import fileSearch from "./file/search.ts";
import fileStat from "./file/stat.ts";
import fileWrite from "./file/write.ts";
import memoryClear from "./memory/clear.ts";
import memoryDocumentation from "./memory/documentation.ts";
import memoryList from "./memory/list.ts";
import memoryRetrieve from "./memory/retrieve.ts";
import memorySearch from "./memory/search.ts";
import memoryStore from "./memory/store.ts";
import shellExec from "./shell/exec.ts";
import shellGitStatus from "./shell/git_status.ts";
import shellLint from "./shell/lint.ts";
import shellPython from "./shell/python.ts";
import shellScript from "./shell/script.ts";
import shellTest from "./shell/test.ts";
import systemCalculator from "./system/calculator.ts";
import systemCallTool from "./system/call_tool.ts";
import systemDisk from "./system/disk.ts";
import systemEcho from "./system/echo.ts";
import systemEnv from "./system/env.ts";
import systemExplain from "./system/explain.ts";
import systemFindTools from "./system/find_tools.ts";
import systemHealth from "./system/health.ts";
import systemInfo from "./system/info.ts";
import systemLogs from "./system/logs.ts";
import systemMetrics from "./system/metrics.ts";
import systemPackageInstall from "./system/package_install.ts";
import systemProcess from "./system/process.ts";
import systemRunCode from "./system/run_code.ts";
import systemTime from "./system/time.ts";
import webDelete from "./web/delete.ts";
import webDownload from "./web/download.ts";
import webFetch from "./web/fetch.ts";
import webGet from "./web/get.ts";
import webPost from "./web/post.ts";
import webPut from "./web/put.ts";
import webSearch from "./web/search.ts";
import workflowAdvancePhase from "./workflow/advance_phase.ts";
import workflowCreate from "./workflow/create.ts";
import workflowExecute from "./workflow/execute.ts";
import workflowList from "./workflow/list.ts";
import workflowSchedule from "./workflow/schedule.ts";
import workflowStatus from "./workflow/status.ts";
import workflowUpdatePlan from "./workflow/update_plan.ts";
import type { Tool } from "../contract/tool.ts";

export const NATIVE_TOOLS: readonly Tool[] = [
  agentAskUser,
  agentCommunicate,
  agentCoordinate,
  agentCreateTool,
  agentSpawn,
  agentStatus,
  agentStop,
  aiAnalyzeImage,
  aiClassify,
  aiEmbed,
  aiGenerate,
  aiGenerateImage,
  aiRenderDiagram,
  aiSpeak,
  aiTranscribe,
  browserClick,
  browserClose,
  browserExtract,
  browserNavigate,
  browserObserve,
  browserOpen,
  browserScreenshot,
  browserScroll,
  browserSelect,
  browserTabs,
  browserType,
  browserWait,
  databaseConnections,
  databaseDelete,
  databaseInsert,
  databaseQuery,
  databaseSchema,
  databaseTables,
  databaseUpdate,
  fileCopy,
  fileDelete,
  fileDiff,
  fileEdit,
  fileGlob,
  fileList,
  fileMkdir,
  fileMove,
  fileParse,
  fileRead,
  fileSearch,
  fileStat,
  fileWrite,
  memoryClear,
  memoryDocumentation,
  memoryList,
  memoryRetrieve,
  memorySearch,
  memoryStore,
  shellExec,
  shellGitStatus,
  shellLint,
  shellPython,
  shellScript,
  shellTest,
  systemCalculator,
  systemCallTool,
  systemDisk,
  systemEcho,
  systemEnv,
  systemExplain,
  systemFindTools,
  systemHealth,
  systemInfo,
  systemLogs,
  systemMetrics,
  systemPackageInstall,
  systemProcess,
  systemRunCode,
  systemTime,
  webDelete,
  webDownload,
  webFetch,
  webGet,
  webPost,
  webPut,
  webSearch,
  workflowAdvancePhase,
  workflowCreate,
  workflowExecute,
  workflowList,
  workflowSchedule,
  workflowStatus,
  workflowUpdatePlan,
];
