// Every endpoint, explicitly. Order matters where a path could match two: fixed segments come first.
import { createLoginLink, whoami } from "./account.ts";
import * as agents from "./agents.ts";
import * as apis from "./apis.ts";
import * as assets from "./assets.ts";
import { getSimilarApproval, previewApproval, previewApprovalRule } from "./approval-previews.ts";
import {
  approve,
  deny,
  draftApprovalRule,
  getApproval,
  listApprovalRules,
  listApprovals,
  revokeApprovalRule,
} from "./approvals.ts";
import {
  archiveEvents,
  exportLedger,
  getLedgerHead,
  getVerification,
  makeCheckpoint,
  searchEvents,
  verifyLedger,
} from "./audit.ts";
import * as capsules from "./capsules.ts";
import { viewCatalogue } from "./catalogue.ts";
import * as chatSessions from "./chat/sessions.ts";
import * as turns from "./chat/turns.ts";
import { getConnections } from "./connect.ts";
import { governance, policies, relationSchema } from "./documents.ts";
import type { AnyEndpoint } from "./endpoint.ts";
import { cancelToolExecution, executeTool, getToolStatus } from "./executions.ts";
import { explainCall, explainMissing } from "./explain.ts";
import { getDoctor, getHealth } from "./health.ts";
import { getHistoryRebuild, getHistoryStats, rebuildHistory } from "./history/stats.ts";
import { getSeries } from "./history/series.ts";
import { getActiveExecutions, getToolHistory } from "./history/history.ts";
import { createKey, getKey, listKeys, revokeKey, rotateKey, updateKey } from "./keys.ts";
import { events } from "./live.ts";
import { getToolMetrics } from "./metrics.ts";
import { getMode, switchMode } from "./mode.ts";
import * as models from "./models.ts";
import * as personas from "./personas.ts";
import { getPreferences, updatePreferences } from "./preferences.ts";
import { checkPermission, getPermissions, requirePermission } from "./permissions.ts";
import { executePlan } from "./plans.ts";
import { answerQuestion, listQuestions } from "./questions.ts";
import {
  checkRelationship,
  expandRelationship,
  getRelationSchema,
  listRelationships,
  lookupResources,
  lookupSubjects,
  writeRelationships,
} from "./relationships/relationships.ts";
import { getSettings } from "./settings.ts";
import { endSignIn, listSignIns } from "./sign-ins.ts";
import { getTenant, updateTenant } from "./tenant.ts";
import * as toolDrafts from "./tool-drafts.ts";
import { getToolDetails, listTools, registryStats, switchTool } from "./tools.ts";
import { getUsage, listPlans } from "./usage.ts";
import { getPolicyInput, replayCalls } from "./replay.ts";
import * as serverLogin from "./servers/login.ts";
import * as servers from "./servers/servers.ts";
import { createUser, getUser, listUsers, updateUser } from "./users.ts";
import * as schedules from "./schedules.ts";
import * as work from "./work.ts";
import * as workflowRuns from "./workflow-runs.ts";
import {
  createWebhook,
  getWebhook,
  listWebhookDeliveries,
  listWebhooks,
  removeWebhook,
  retryWebhookDelivery,
  rotateWebhook,
  testWebhook,
  updateWebhook,
} from "./webhooks.ts";

export const endpoints: readonly AnyEndpoint[] = [
  listTools,
  viewCatalogue,
  getToolDetails,
  switchTool,
  registryStats,
  getToolMetrics,
  executeTool,
  executePlan,
  getToolHistory,
  getActiveExecutions,
  getToolStatus,
  cancelToolExecution,
  getHistoryStats,
  getSeries,
  rebuildHistory,
  getHistoryRebuild,
  explainCall,
  explainMissing,
  getPermissions,
  checkPermission,
  requirePermission,
  listApprovals,
  getApproval,
  approve,
  deny,
  previewApproval,
  getSimilarApproval,
  draftApprovalRule,
  previewApprovalRule,
  listApprovalRules,
  revokeApprovalRule,
  listQuestions,
  answerQuestion,
  ...Object.values(chatSessions),
  turns.sendMessage,
  turns.regenerateAnswer,
  turns.stopTurn,
  turns.getTurn,
  turns.watchTurn,
  ...Object.values(work),
  ...Object.values(schedules),
  ...Object.values(workflowRuns),
  ...Object.values(assets),
  events,
  searchEvents,
  getLedgerHead,
  exportLedger,
  verifyLedger,
  getVerification,
  makeCheckpoint,
  archiveEvents,
  getMode,
  switchMode,
  whoami,
  createLoginLink,
  getConnections,
  listSignIns,
  endSignIn,
  getHealth,
  getDoctor,
  getSettings,
  getTenant,
  updateTenant,
  createUser,
  listUsers,
  getUser,
  updateUser,
  createKey,
  listKeys,
  getKey,
  updateKey,
  revokeKey,
  rotateKey,
  ...Object.values(capsules),
  ...Object.values(personas),
  ...Object.values(models),
  ...Object.values(agents),
  getPreferences,
  updatePreferences,
  createWebhook,
  listWebhooks,
  getWebhook,
  updateWebhook,
  removeWebhook,
  rotateWebhook,
  testWebhook,
  listWebhookDeliveries,
  retryWebhookDelivery,
  ...Object.values(servers),
  ...Object.values(serverLogin),
  ...Object.values(apis),
  ...Object.values(toolDrafts),
  getUsage,
  listPlans,
  listRelationships,
  writeRelationships,
  checkRelationship,
  expandRelationship,
  lookupResources,
  lookupSubjects,
  getRelationSchema,
  getPolicyInput,
  replayCalls,
  ...Object.values(policies),
  ...Object.values(governance),
  ...Object.values(relationSchema),
];
