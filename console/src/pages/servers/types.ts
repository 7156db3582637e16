import type { Outputs } from "../../api/client.ts";

export type Server = Outputs["servers"]["getServer"];
export type ServerTool = Outputs["servers"]["listServerTools"]["items"][number];
export type ServerToolDetails = Outputs["servers"]["getServerTool"];
export type Tried = Outputs["servers"]["addServer"];
